"""How a model can be asked to answer in JSON."""

import asyncio
from enum import StrEnum

from streamviz.core.model_names import SIMULATOR
from streamviz.upstream.loading import load
from streamviz.upstream.targets import Target


class Structure(StrEnum):
    """By a schema that it keeps to, as JSON of any kind, or only in words."""

    SCHEMA = "schema"
    JSON = "json"
    WORDS = "words"


async def structure_of(target: Target) -> Structure:
    """What LiteLLM knows of a model."""
    if target.provider == SIMULATOR:
        return Structure.SCHEMA
    return await asyncio.to_thread(_known, target.model, target.provider)


def _known(model: str, provider: str) -> Structure:
    load()
    from streamviz.upstream.lite import litellm

    if litellm.supports_response_schema(model=model, custom_llm_provider=provider):
        return Structure.SCHEMA
    taken = litellm.get_supported_openai_params(model=model, custom_llm_provider=provider) or []
    return Structure.JSON if "response_format" in taken else Structure.WORDS
