"""Cohere's streams: server-sent events, though LiteLLM takes each line for JSON, and looks elsewhere for the end."""

from litellm.llms.cohere.common_utils import CohereV2ModelResponseIterator
from litellm.types.utils import GenericStreamingChunk

from streamviz.core.json_value import JsonObject, as_object, decode

_parse = CohereV2ModelResponseIterator.chunk_parser


def _read(stream: CohereV2ModelResponseIterator, chunk: str) -> GenericStreamingChunk:
    """Read a line. Those that name an event, and `[DONE]`, say nothing. Raises ValueError for invalid JSON."""
    data = chunk.removeprefix("data:").strip()
    return stream.chunk_parser(as_object(decode(data)) if data.startswith("{") else {})


def _parse_by_type(stream: CohereV2ModelResponseIterator, chunk: JsonObject) -> GenericStreamingChunk:
    """Parse an event: LiteLLM knows some kinds only by members that Cohere's API does not have."""
    return _parse(stream, {"event": chunk.get("type", ""), "data": chunk, **chunk})


def read_coheres_events() -> None:
    """Make LiteLLM read them."""
    CohereV2ModelResponseIterator.convert_str_chunk_to_generic_chunk = _read
    CohereV2ModelResponseIterator.chunk_parser = _parse_by_type
