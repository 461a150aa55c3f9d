"""Cohere's streams: server-sent events, of which LiteLLM takes each line for JSON, and looks for the end elsewhere."""

from litellm.llms.cohere.common_utils import CohereV2ModelResponseIterator
from litellm.types.utils import GenericStreamingChunk

from streamviz.core.json_value import JsonObject, as_object, decode

_parse = CohereV2ModelResponseIterator.chunk_parser


def _read(stream: CohereV2ModelResponseIterator, chunk: str) -> GenericStreamingChunk:
    """Lines that name an event, and the last one, say nothing. Raises ValueError for JSON that is none."""
    data = chunk.removeprefix("data:").strip()
    return stream.chunk_parser(as_object(decode(data)) if data.startswith("{") else {})


def _parse_by_type(stream: CohereV2ModelResponseIterator, chunk: JsonObject) -> GenericStreamingChunk:
    """Some kinds of event LiteLLM knows by another member than Cohere's API has for that."""
    return _parse(stream, {"event": chunk.get("type", ""), "data": chunk, **chunk})


def read_coheres_events() -> None:
    """From now on LiteLLM does."""
    CohereV2ModelResponseIterator.convert_str_chunk_to_generic_chunk = _read
    CohereV2ModelResponseIterator.chunk_parser = _parse_by_type
