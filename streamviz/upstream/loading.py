"""Importing LiteLLM takes five seconds of CPU and 200 MB, so it is imported only where a call may need it."""

import gc
import threading

from streamviz.upstream.estimates import count_by
from streamviz.upstream.providers import is_any_configured

# Modules that import each other must not be imported by two threads at once.
_lock = threading.Lock()
_is_loaded = False


def is_needed(*, has_routes: bool, brings_credentials: bool) -> bool:
    """Whether calls of other models than simulated ones are to be expected: a provider's credential is in the
    environment, an operator has set routes, or clients bring credentials of their own."""
    return has_routes or brings_credentials or is_any_configured()


def load() -> None:
    """Import LiteLLM and everything here that uses it, unless that was done. Once there are clients, do not call this
    in the event loop.

    From then on nothing in this process uses httpx except to call a model.
    """
    global _is_loaded
    with _lock:
        if not _is_loaded:
            _load()
            _is_loaded = True


def _load() -> None:
    gc.disable()  # what is imported stays
    try:
        from streamviz.upstream import costs, token_counts, translated  # noqa: F401
        from streamviz.upstream.lite import litellm
        from streamviz.upstream.sending import send_only_what_is_asked

        send_only_what_is_asked()
        # The first look-up of a model takes LiteLLM half a second.
        litellm.get_llm_provider("openai/gpt-4o")
        token_counts.tokens_in("")
        count_by(token_counts.tokens_in)
        # Left to the garbage collector, LiteLLM's tables alone would cause pauses of tens of ms.
        gc.freeze()
    finally:
        gc.enable()
