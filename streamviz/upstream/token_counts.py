"""How many tokens a request of Anthropic's messages has, at a provider that does not speak that format."""

import asyncio
from typing import Any

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject
from streamviz.upstream.chat_requests import as_chat_request
from streamviz.upstream.lite import litellm
from streamviz.upstream.refusals import as_upstream_error
from streamviz.upstream.targets import Target
from streamviz.upstream.translated import arguments_for

_LOCAL = "local_tokenizer"


async def count_tokens(target: Target, request: JsonObject, silence_seconds: float) -> JsonObject:
    """The count in Anthropic's shape; `estimated` stands beside it where the provider did not count itself.

    Raises UpstreamError where the request cannot be counted.
    """
    chat, _ = as_chat_request({"max_tokens": 1, **arguments_for(target, request), "stream": False})
    asked: dict[str, Any] = {
        key: chat[key] for key in ("model", "messages", "tools", "api_key", "api_base") if key in chat
    }
    try:
        async with asyncio.timeout(silence_seconds):
            counted = await litellm.acount_tokens(**asked)
    except TimeoutError as error:
        raise UpstreamError(504, f"{target.provider} did not answer in time") from error
    except Exception as error:  # LiteLLM's errors share no base but OpenAI's, and some are bare.
        raise as_upstream_error(error, target.key) from error
    estimated = {"estimated": True} if counted.tokenizer_type == _LOCAL else {}
    return {"input_tokens": counted.total_tokens, **estimated}
