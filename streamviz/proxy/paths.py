"""Which paths are the proxy's, however clients write the base URL, and in which format each is answered."""

import re
from collections.abc import Callable
from functools import lru_cache

from streamviz.base_path import below
from streamviz.core.errors import RequestError
from streamviz.core.wire import ANTHROPIC_MESSAGES, EMBEDDINGS, GEMINI, OPENAI_CHAT, WIRE_FORMATS
from streamviz.core.wire_format import WireFormat

VERSIONS = ("/v1/", "/v1beta/", "/v1alpha/")
GEMINI_CALL = re.compile(r"/v1(?:beta|alpha)?/models/(?P<model>.+):(?P<method>[A-Za-z]+)")
GEMINI_METHODS = ("generateContent", "streamGenerateContent", "countTokens")
# A request target in absolute form names the server, which is this one.
_SERVER = re.compile(r"https?://[^/]*", re.IGNORECASE)
_SLASHES = re.compile("/{2,}")
_REPEATED = re.compile(r"(?:/v1(?:beta|alpha)?)+(?=/v1(?:beta|alpha)?/)")
_VERSION = re.compile(r"/v1(?:beta|alpha)?/")
# What follows the last version in a path that has something else before it.
_BEHIND = re.compile(r".+(/v1(?:beta|alpha)?/.+)")
_ENDS = (
    *(known.path.removeprefix("/v1") for known in WIRE_FORMATS.values() if known.path.startswith("/v1/")),
    "/models",
)
# Model calls, and other endpoints of providers: no page has such a path.
_UNVERSIONED = re.compile(
    rf"(?:{'|'.join(_ENDS)}|/(?:completions|files|uploads|batches|images|audio|videos|moderations|fine_tuning|assistants"
    r"|threads|vector_stores|containers|conversations|evals|skills))(?:/|$)"
)
_CALLS = (*(f"/v1{end}" for end in _ENDS), GEMINI.path)
# OpenRouter has a list of its own of the models that embed.
_PROVIDERS_OWN = f"{EMBEDDINGS.path}/models"
# Clients may ask for any path, and a path may be long.
_KEPT = 100
_LONGEST = 200  # of a path that is repeated in an error
_BASE_URLS = (
    " Base URLs end in /v1 for clients of OpenAI's API; for those of Anthropic's and Google's they are this server's"
    " address alone."
)


@lru_cache(_KEPT)
def canonical(path: str) -> str:
    """A path below BASE_PATH, with its version once: clients' base URLs come with and without the version, and with a
    slash at the end to which clients add another."""
    path = _SERVER.sub("", path, count=1) if path[:1] != "/" else path
    path = below(_SLASHES.sub("/", path))
    path = _REPEATED.sub("", path, count=1)
    return f"/v1{path}" if _UNVERSIONED.match(path) else path


def is_ours(path: str) -> bool:
    """Whether a canonical path is the proxy's, and not a page."""
    return path.startswith(VERSIONS)


def format_of(path: str, header: Callable[[bytes], str]) -> WireFormat:
    """The format in which a client of this canonical path expects to be answered, errors included.

    Paths that several formats share are answered in the format whose own headers the client sends.
    """
    if is_gemini(path):
        return GEMINI
    known = next((known for known in WIRE_FORMATS.values() if path.startswith(known.path)), None)
    if known is not None:
        return known
    if header(b"anthropic-version"):
        return ANTHROPIC_MESSAGES
    return GEMINI if header(b"x-goog-api-key") or header(b"x-goog-api-client") else OPENAI_CHAT


def is_gemini(path: str) -> bool:
    """Whether only Gemini's format has such a path."""
    return path.startswith(VERSIONS[1:]) or is_gemini_call(path)


@lru_cache(_KEPT)
def is_gemini_call(path: str) -> bool:
    """Whether a path names a model and what to do with it, in Gemini's format."""
    found = GEMINI_CALL.fullmatch(path)
    return found is not None and found["method"] in GEMINI_METHODS


def is_a_clients(path: str) -> bool:
    """Whether only a client of models asks for such a path, whether or not there is anything: no page has it."""
    return bool(_VERSION.search(f"{path}/") or meant_by(path))


def no_such(path: str, hint: str = _BASE_URLS) -> RequestError:
    """The error for a path that does not exist. It says what to put into the base URL, unless that is right, or gives
    another hint."""
    if f"{path.rstrip('/')}/" in VERSIONS:
        message = f"{path} is a base URL for clients, which add the path of a call to it."
    elif meant := meant_by(path):
        message = f"There is no {path[:_LONGEST]} here; {meant[:_LONGEST]} is. Check the base URL."
    else:
        message = f"There is no {path[:_LONGEST]} here.{'' if is_ours(path) else hint}"
    return RequestError(404, message, kind="not_found_error", code="unknown_url")


def meant_by(path: str) -> str:
    """The path of the call that a client means whose base URL has something before the version, or whose path ends like
    a known call's; empty if there is none. Outside our versions, as in Azure's paths, the call's own version may be
    missing."""
    path = path.rstrip("/")
    behind = _BEHIND.fullmatch(path)
    if behind is not None and behind[1].startswith(_CALLS):
        return behind[1]
    return next((f"/v1{end}" for end in _ENDS if _is_repeated(path, end)), "")


def _is_repeated(path: str, end: str) -> bool:
    """Whether a path is a base URL's with this end; below /v1, where providers have other paths with such ends, one
    that is itself a call's, as people copy it from documentation."""
    before = path.removesuffix(end)
    return before != path != _PROVIDERS_OWN and (before in _CALLS or not before.startswith("/v1/"))
