"""LiteLLM as this project wants it: local prices, no telemetry, no callbacks, nothing printed."""

import logging
import os

# LiteLLM reads these as it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_LOG", "ERROR")

import litellm

litellm.telemetry = False
litellm.suppress_debug_info = True
litellm.drop_params = False
logging.getLogger("LiteLLM").setLevel(logging.ERROR)

__all__ = ["litellm"]
