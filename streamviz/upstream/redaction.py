"""What clients may see of upstream's words and headers: no credentials, no paths of this machine, no tracebacks."""

import os
import re
from collections.abc import Collection, Mapping

MOST_CHARACTERS = 2_000
# How much of a message, which may quote a whole request, is searched for paths: 0.1 s per megabyte.
_READ = 5 * MOST_CHARACTERS
# A shorter text is not a credential, and masking it would spoil words.
SHORTEST_SECRET = 8

# The headers of upstream's that clients get: those that SDKs read. Others may be meant for browsers of another site.
_PASSED_ON = frozenset(
    "content-type retry-after retry-after-ms request-id x-request-id x-should-retry ratelimit ratelimit-policy"
    " x-amzn-requestid apim-request-id cf-ray".split()
)
_FAMILIES_PASSED_ON = ("openai-", "anthropic-", "x-ratelimit-", "ratelimit-", "x-groq-", "x-simulator-")
# RFC 9110, section 5.5: values contain no control character but the tab. A client takes an answer with one for broken.
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# What is about the program that failed, not about what went wrong.
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|  File \"")
_PATH = re.compile(r"(?<![\w:/.])/(?:[\w.@+-]+/)+[\w.@+-]+|\b[A-Z]:\\[^\s'\"]+")
# Line ends, and their escapes in JSON and in files of variables.
_LINE_END = re.compile(r"(?:[\r\n]|\\[rn])+")
_CREDENTIAL = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$")


def without(key: str, text: str) -> str:
    """Upstream's words without the credential of the call, which they may quote."""
    return text.replace(key, "***") if len(key) >= SHORTEST_SECRET else text


def told_headers(headers: Mapping[str, str], key: str = "", besides: Collection[str] = ()) -> dict[str, str]:
    """Upstream's headers that the client gets: rate limits, request ids, retry-after and the like, and those named in
    `besides`. `key` is the credential of the call."""
    own = {name.lower(): without(key, value) for name, value in headers.items() if not CONTROL.search(value)}
    kept = _PASSED_ON.union(besides)
    return {name: value for name, value in own.items() if name in kept or name.startswith(_FAMILIES_PASSED_ON)}


def told(message: str, key: str = "") -> str:
    """A message as clients may see it: without tracebacks, paths of this machine and credentials, and not too long."""
    message = without_secrets(message, key)
    if traceback := _TRACEBACK.search(message):
        message = message[: traceback.start()].rstrip()
    message = _PATH.sub("…", message[:_READ])
    return message[:MOST_CHARACTERS] or "the call failed"


def without_secrets(text: str, key: str) -> str:
    """A text without the call's credential and those in the environment."""
    for secret in _secrets(key):
        text = text.replace(secret, "…")
    return text


def _secrets(key: str) -> list[str]:
    """The call's credential and those in the environment, the longest first."""
    told = [value for name, value in os.environ.items() if names_credential(name)]
    known = {line for value in (*told, key) for line in with_lines(value)}
    return sorted((value for value in known if len(value) >= SHORTEST_SECRET), key=len, reverse=True)


def with_lines(value: str) -> list[str]:
    """A secret without the white space around it, and each of its lines: a private key may be quoted line by line."""
    return [value.strip(), *(line.strip() for line in _LINE_END.split(value.strip()))]


def names_credential(variable: str) -> bool:
    """Whether an environment variable has a credential, going by its name."""
    return _CREDENTIAL.search(variable) is not None
