"""Embeddings at providers that speak another format."""

from typing import Any

import msgspec

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject
from streamviz.upstream.answer_bytes import whole
from streamviz.upstream.formats.translated_format import TranslatedFormat
from streamviz.upstream.lite import litellm
from streamviz.upstream.request_types import Json
from streamviz.upstream.targets import Target
from streamviz.upstream.translated_answer import Opened


class _Request(msgspec.Struct):
    """The members of `input` may be objects, in which Gemini takes files, and Jina images."""

    input: str | list[str | int | list[int] | Json]
    dimensions: int | None = None
    encoding_format: str | None = None


class Embeddings(TranslatedFormat):
    """LiteLLM converts both requests and answers."""

    types = _Request

    async def call(self, target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
        response: Any = await litellm.aembedding(**arguments, max_retries=0)
        if not response.data:
            raise UpstreamError(502, "upstream sent something that does not fit its format: no embeddings")
        return Opened(whole(response), response)
