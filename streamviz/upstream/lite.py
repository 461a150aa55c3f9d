"""LiteLLM as this project wants it: local prices, no telemetry, no callbacks, nothing printed."""

import logging
import os

# LiteLLM reads these as it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_LOG", "ERROR")

import litellm

litellm.telemetry = False
litellm.suppress_debug_info = True
# Its way from Anthropic's messages to OpenAI's responses needs packages of its proxy; the way over chat does not.
litellm.use_chat_completions_url_for_anthropic_messages = True
logging.getLogger("LiteLLM").setLevel(logging.ERROR)

__all__ = ["litellm"]
