"""Tokens with their parts, of streams that were stored before these were counted."""

from typing import Any

from streamviz.core.tokens import Tokens, tokens_of

_AT_ONCE = 1_000
_PARTS = ("cache_read_tokens", "cache_written_tokens", "reasoning_tokens")


def count_anew(apps: Any, editor: Any) -> None:
    """Streams whose providers told of parts get these, all input as their input, all output as their output, and what
    that costs by the price map of now."""
    streams = apps.get_model("records", "Stream").objects.using(editor.connection.alias)
    found = streams.filter(usage__isnull=False).only("upstream_model", "provider", "usage", "input_tokens", "cost")
    changed: list[Any] = []
    for stream in found.iterator(chunk_size=_AT_ONCE):
        if isinstance(stream.usage, dict) and _count(stream, tokens_of(stream.usage)):
            changed.append(stream)
        if len(changed) >= _AT_ONCE:
            _store(streams, changed)
    _store(streams, changed)


def _count(stream: Any, tokens: Tokens) -> bool:
    """Set what is known now of a stream; False where that is no more than was known."""
    if not (tokens.cache_read or tokens.cache_written or tokens.reasoning):
        return False
    from streamviz.upstream.prices import price

    stream.input_tokens, stream.output_tokens = tokens.input, tokens.output
    stream.cache_read_tokens, stream.cache_written_tokens = tokens.cache_read, tokens.cache_written
    stream.reasoning_tokens = tokens.reasoning
    if stream.cost is not None:
        stream.cost = price(stream.upstream_model, stream.provider, tokens)
    return True


def _store(streams: Any, changed: list[Any]) -> None:
    streams.bulk_update(changed, ["input_tokens", "output_tokens", "cost", *_PARTS])
    changed.clear()
