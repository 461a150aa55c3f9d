"""LiteLLM as this project wants it: local prices, no telemetry, no callbacks, nothing printed."""

import logging
import os

# LiteLLM reads these as it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_LOG", "ERROR")

import litellm

litellm.telemetry = False
litellm.suppress_debug_info = True
litellm.disable_hf_tokenizer_download = True
# Its way from Anthropic's messages to OpenAI's responses needs packages of its proxy; the way over chat does not.
litellm.use_chat_completions_url_for_anthropic_messages = True
# What goes wrong is raised too; its log would quote what providers and clients sent.
logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)

_fakes_stream = litellm.OpenAIResponsesAPIConfig.should_fake_stream


def _fakes_known_stream(
    config: litellm.OpenAIResponsesAPIConfig,
    model: str | None,
    stream: bool | None,
    custom_llm_provider: str | None = None,
) -> bool:
    """Whether LiteLLM asks for a whole answer and cuts it up itself.

    For models that its price map does not know it would always: these are taken to stream.
    """
    is_known = not {model, f"{custom_llm_provider}/{model}"}.isdisjoint(litellm.model_cost)
    return is_known and _fakes_stream(config, model, stream, custom_llm_provider)


litellm.OpenAIResponsesAPIConfig.should_fake_stream = _fakes_known_stream  # type: ignore[method-assign, assignment]

__all__ = ["litellm"]
