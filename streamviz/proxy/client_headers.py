"""Which headers of a client's request go where: the provider gets all that are meant for it, the record a few."""

from collections.abc import Iterable, Iterator, Sequence

from asgiref.typing import HTTPScope

from streamviz.core.masking import kept_values
from streamviz.core.policy import ActivePolicy
from streamviz.proxy.http import text_of
from streamviz.upstream.redaction import CONTROL

# Headers of a connection, of a body that is rewritten, of a browser or of a proxy on the way, and credentials.
_OURS = frozenset(
    b"connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect host content-length"
    b" content-encoding content-type accept-encoding proxy-authenticate api-key cookie cookie2 set-cookie origin"
    b" referer forwarded via x-real-ip x-remote-user x-original-url x-rewrite-url x-http-method-override"
    b" x-session-id".split()
)
_FAMILIES = (b"x-streamviz-", b"x-forwarded-", b"sec-", b"access-control-", b"cf-", b"x-simulator-")
# Credentials, whoever they are for, and where a proxy says who called it.
_ENDINGS = (
    *(b"-api-key", b"-access-key", b"-auth-key", b"-secret-key", b"subscription-key"),
    *(b"-auth", b"-password", b"-secret", b"-token", b"authorization", b"client-ip", b"forwarded-for"),
)
# The headers that are recorded: they say how a request was sent, and by what. No others, as those may contain anything:
# credentials, cookies, people's names. The user agent has a column of its own.
_KEPT = frozenset(
    b"accept content-type anthropic-version anthropic-beta openai-beta traceparent x-streamviz-provider"
    b" x-stainless-lang x-stainless-package-version x-stainless-os x-stainless-arch x-stainless-runtime"
    b" x-stainless-runtime-version x-stainless-retry-count x-stainless-timeout x-stainless-read-timeout"
    b" x-stainless-async x-stainless-helper x-stainless-helper-method x-stainless-poll-helper"
    b" x-goog-api-client x-interaction-type x-affinity".split()
)
_LONGEST = 1_000


def end_to_end(scope: HTTPScope, policies: Sequence[ActivePolicy] = ()) -> dict[str, str]:
    """The headers that the provider is to see, as policies leave them. The values of a repeated header are joined."""
    kept = kept_values(_joined(_passed_on(scope)), policies)
    # A policy's replacement for a match may have several lines.
    return {name: CONTROL.sub(" ", text) for name, text in kept.items()} if policies else kept


def _passed_on(scope: HTTPScope) -> Iterator[tuple[str, str]]:
    of_connection = {
        name.strip().lower()
        for header, value in scope["headers"]
        if header == b"connection"
        for name in value.split(b",")
    }
    for name, value in scope["headers"]:
        is_ours = name in _OURS or name.startswith(_FAMILIES) or name.endswith(_ENDINGS)
        if not is_ours and name not in of_connection:
            yield name.decode("latin-1"), text_of(value)


def kept_headers(scope: HTTPScope) -> dict[str, str]:
    """The headers to record, joined in the same way; values too long to be genuine are left out."""
    found = _joined((name.decode(), text_of(value)) for name, value in scope["headers"] if name in _KEPT)
    return {name: text for name, text in found.items() if len(text) <= _LONGEST}


def _joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
