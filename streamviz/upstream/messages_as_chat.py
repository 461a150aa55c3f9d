"""LiteLLM's arguments for a call of Anthropic's messages, as those for a chat call."""

from collections.abc import Mapping
from typing import Any

from litellm.llms.anthropic.messages.adapters.handler import LiteLLMMessagesToCompletionTransformationHandler

from streamviz.core.errors import missing
from streamviz.upstream.failures import inconvertible

_AS_CHAT = frozenset(
    "max_tokens messages model metadata stop_sequences stream system temperature thinking tool_choice tools top_k"
    " top_p".split()
)


def as_chat_request(arguments: dict[str, Any]) -> tuple[dict[str, object], Mapping[str, str]]:
    """LiteLLM's arguments for a messages call, as those for a chat call.

    Also returns the client's names of tools that had to be shortened for chat, by the shortened name. Raises
    ClientFacingError (400) for what chat cannot express.
    """
    if arguments.get("max_tokens") is None:
        raise missing("max_tokens")
    own = {name: value for name, value in arguments.items() if name in _AS_CHAT}
    others = {name: value for name, value in arguments.items() if name not in _AS_CHAT}
    try:
        chat, tool_names = LiteLLMMessagesToCompletionTransformationHandler._prepare_completion_kwargs(
            **own, extra_kwargs=others
        )
    except Exception as error:  # LiteLLM takes the request for well-formed; if it is not, anything may be raised.
        raise inconvertible(error) from error
    return dict(chat), tool_names
