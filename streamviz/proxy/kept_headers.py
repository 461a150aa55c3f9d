"""Which headers of a client's request the record keeps: those that say how it was sent, and by what. No others, as
anything may be in them: credentials, cookies, names of people."""

from asgiref.typing import HTTPScope

# The user agent has a column of its own.
_KEPT = frozenset(
    b"accept content-type anthropic-version anthropic-beta openai-beta traceparent x-streamviz-provider"
    b" x-stainless-lang x-stainless-package-version x-stainless-os x-stainless-arch x-stainless-runtime"
    b" x-stainless-runtime-version x-stainless-retry-count x-stainless-timeout x-stainless-read-timeout"
    b" x-stainless-async x-stainless-helper x-stainless-helper-method x-stainless-poll-helper".split()
)
_LONGEST = 1_000


def kept_headers(scope: HTTPScope) -> dict[str, str]:
    """Those headers; of one that came several times, the values stand behind one another. A value that is too long to
    be one of theirs is left out."""
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        if raw in _KEPT:
            name, text = raw.decode(), value.decode("latin-1")
            found[name] = f"{found[name]}, {text}" if name in found else text
    return {name: text for name, text in found.items() if len(text) <= _LONGEST}
