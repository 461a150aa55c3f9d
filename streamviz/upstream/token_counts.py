"""Counting tokens with LiteLLM, which asks the provider or uses a tokenizer of its own."""

import asyncio
from typing import Any

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject
from streamviz.upstream.failures import as_upstream_error
from streamviz.upstream.formats import translated_format
from streamviz.upstream.lite import litellm
from streamviz.upstream.sending import Sending
from streamviz.upstream.targets import Target
from streamviz.upstream.translated import arguments_for

_LOCAL = "local_tokenizer"


async def count_tokens(target: Target, request: JsonObject, silence_seconds: float) -> JsonObject:
    """How many tokens a request has, at a provider that does not speak its format.

    The count has the shape of the request's format, plus `estimated` if the provider did not count itself.

    Raises UpstreamError if the request cannot be counted.
    """
    chat, word = translated_format(target).to_count(arguments_for(target, request))
    asked: dict[str, Any] = {
        key: chat[key] for key in ("model", "messages", "tools", "api_key", "api_base") if key in chat
    }
    sending = Sending(key=target.key)
    try:
        async with asyncio.timeout(silence_seconds):
            counted = await litellm.acount_tokens(**asked)
    except TimeoutError as error:
        raise UpstreamError(504, f"{target.provider} did not answer in time") from error
    except Exception as error:  # LiteLLM's errors have no common base but OpenAI's, and some are bare.
        raise (sending.refusal or as_upstream_error(error, target.key)) from error
    estimated = {"estimated": True} if counted.tokenizer_type == _LOCAL else {}
    return {word: counted.total_tokens, **estimated}


def tokens_in(text: str) -> int:
    """The tokens by OpenAI's tokenizer. The first call reads it from a file of LiteLLM's, which takes a third of a
    second."""
    encoding: Any = litellm.encoding
    return len(encoding.encode_ordinary(text))
