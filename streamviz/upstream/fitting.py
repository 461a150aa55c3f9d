"""What a provider of another format can take of a request.

What it cannot take, and the answer does not depend on, is left out and named. What would change the answer is refused.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.model_names import SIMULATOR
from streamviz.core.wire import ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES, WIRE_FORMATS
from streamviz.core.wire.gemini_as_chat import as_chat, chat_name
from streamviz.core.wire.signed_thinking import is_marked
from streamviz.upstream.chat_requests import speaks_messages, speaks_responses
from streamviz.upstream.lite import litellm
from streamviz.upstream.targets import Target

_TO_US = frozenset({"model", "metadata"})
# Hints to the client's own vendor: of caches, records, billing, effort, filters, of what pictures cost, and of how its
# events are written.
_HINTS = frozenset(
    "betas cache_control client_metadata context_management diagnostics inference_geo labels mediaResolution prediction"
    " prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort safetySettings safety_identifier"
    " seed service_tier speed store stream_options truncation user verbosity".split()
)
# These say nothing where they have this value.
_USUAL: JsonObject = {
    "background": False,
    "container": {},
    "frequency_penalty": 0,
    "functions": [],
    "logit_bias": {},
    "logprobs": False,
    "max_tool_calls": 0,
    "mcp_servers": [],
    "modalities": ["text"],
    "n": 1,
    "parallel_tool_calls": True,
    "presence_penalty": 0,
    "previous_response_id": "",
    "responseLogprobs": False,
    "responseModalities": ["TEXT"],
    "stop": [],
    "top_logprobs": 0,
}
# What a provider keeps or runs by itself, which one that is called in the chat format does not.
_DONE_THERE = frozenset({"background", "container", "max_tool_calls", "mcp_servers", "previous_response_id"})
# Of the responses' hints, those that LiteLLM does not say in chat.
_LOST = frozenset({"store", "truncation", "prompt_cache_key", "prompt_cache_retention"})
# What a client may offer beside its own functions. A model that has none of it answers all the same.
_OFFERED_BESIDE = frozenset(
    {"code_interpreter", "image_generation", "namespace", "tool_search", "web_search", "web_search_preview"}
)
# Parts of the answer that it is the same without.
_INCLUDED_BESIDE = frozenset(
    {"reasoning.encrypted_content", "web_search_call.action.sources", "code_interpreter_call.outputs"}
)
_LONGEST_NAME = 100
# In the words of all formats, and in those of chat.
_SAMPLING = {"temperature": "temperature", "top_p": "top_p", "topP": "top_p", "top_k": "top_k", "topK": "top_k"}
_WITHOUT_TOP_K = frozenset({"openai", "azure", "xai", "mistral", "deepseek"})
_EFFORTS = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}


class Fitted(NamedTuple):
    """A request that a provider can take, and what was left out of it, by name."""

    request: JsonObject
    left_out: tuple[str, ...]


def fit(target: Target, request: JsonObject, *, as_chat: bool = False) -> Fitted:
    """`as_chat` says that the provider is called in the format of chat, whatever else it speaks. Raises RequestError
    (400) for what it cannot take then and the answer depends on."""
    left_out: list[str] = []
    is_chat = as_chat or _is_called_as_chat(target)
    fields = _fit_fields(target, request, left_out, is_chat=is_chat)
    if target.wire_format == GEMINI.name:
        _fit_gemini(target, fields, left_out)
    elif target.wire_format == OPENAI_CHAT.name:
        _fit_chat(target, fields, left_out)
    elif target.wire_format == OPENAI_RESPONSES.name and is_chat:
        _fit_responses(target, fields, left_out)
    elif target.wire_format == ANTHROPIC_MESSAGES.name and is_chat:
        _fit_messages(target, fields, left_out)
    if is_chat:
        _fit_sampling(target, fields, left_out)
    return Fitted(fields, tuple(dict.fromkeys(left_out)))


def _fit_fields(target: Target, request: JsonObject, left_out: list[str], *, is_chat: bool) -> JsonObject:
    known = WIRE_FORMATS[target.wire_format].parameters
    fields: JsonObject = {}
    for name, value in request.items():
        if name in _TO_US or value is None:
            continue
        if name in known and (not is_chat or _takes(target, name)):
            fields[name] = value
        elif name in _HINTS:
            left_out.append(name)
        elif not _is_usual(name, value):
            raise _refusal(target, name)
    return fields


def _is_usual(name: str, value: object) -> bool:
    return name in _USUAL and value == _USUAL[name]


def _is_called_as_chat(target: Target) -> bool:
    speaks = {ANTHROPIC_MESSAGES.name: speaks_messages, OPENAI_RESPONSES.name: speaks_responses}.get(target.wire_format)
    return speaks is None or not speaks(target.provider, target.model)


def _takes(target: Target, name: str) -> bool:
    """Whether a call in the format of chat can have this parameter."""
    if target.wire_format == GEMINI.name:
        return name != "safetySettings"
    if target.wire_format == OPENAI_RESPONSES.name and name in _LOST:
        return False
    return name not in _DONE_THERE and _has(target, name)


def _has(target: Target, name: str) -> bool:
    """Whether the model has this parameter of chat, as far as LiteLLM knows."""
    return name not in _BY_NAME or name in _taken(target.provider, target.model)


# Parameters of chat that not every provider has, and that LiteLLM refuses for those that have not.
_BY_NAME = frozenset(
    "audio context_management frequency_penalty functions function_call logit_bias logprobs modalities n"
    " parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_retention reasoning_effort"
    " safety_identifier seed service_tier stop store top_logprobs user verbosity".split()
)


@lru_cache(maxsize=1_000)
def _taken(provider: str, model: str) -> frozenset[str]:
    """The parameters of chat that LiteLLM passes on to a model. The simulator has all."""
    if provider == SIMULATOR:
        return _BY_NAME
    return frozenset(litellm.get_supported_openai_params(model=model, custom_llm_provider=provider) or ())


def _fit_sampling(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """How to choose among words, which a model that reasons settles by itself: agents send it whatever they run on."""
    where = "generationConfig" if target.wire_format == GEMINI.name else ""
    config = as_object(fields.get(where)) if where else fields
    effort = as_text(fields.get("reasoning_effort")) or as_text(as_object(fields.get("reasoning")).get("effort"))
    refused = [
        name
        for name, known in _SAMPLING.items()
        if isinstance(value := config.get(name), int | float)
        and not _samples(target.provider, target.model, known, value, effort)
    ]
    if where and refused:
        fields[where] = {name: value for name, value in config.items() if name not in refused}
    elif refused:
        for name in refused:
            del fields[name]
    left_out += [f"{where}.{name}" if where else name for name in refused]


@lru_cache(maxsize=1_000)
def _samples(provider: str, model: str, name: str, value: float, effort: str) -> bool:
    """Whether a model can be told this, as far as LiteLLM knows."""
    if provider == SIMULATOR:
        return True
    if name == "top_k":
        return provider not in _WITHOUT_TOP_K
    told: dict[str, Any] = {name: value, **({"reasoning_effort": effort} if effort else {})}
    try:
        litellm.get_optional_params(model=model, custom_llm_provider=provider, **told)
    except litellm.UnsupportedParamsError:
        return False
    return True


def _fit_messages(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """Thinking and effort go on as effort, where the model has such a thing."""
    if not fields.get("stop_sequences"):
        fields.pop("stop_sequences", None)
    elif not _has(target, "stop"):
        raise _refusal(target, "stop_sequences")
    config = _object(fields, "output_config")
    effort = _EFFORTS.get(as_text(config.get("effort")), "")
    reasons = "reasoning_effort" in _taken(target.provider, target.model)
    kind = as_text(as_object(fields.get("thinking")).get("type"))
    if kind == "adaptive" or (kind == "enabled" and not reasons):
        del fields["thinking"]
        left_out.append("thinking")
    if effort and reasons and "thinking" not in fields:
        fields["reasoning_effort"] = effort
    elif effort:
        left_out.append("output_config.effort")
    if schema := as_object(as_object(config.get("format")).get("schema")):
        fields["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _fit_responses(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    _fit_tools(target, fields, left_out)
    text = dict(_object(fields, "text"))
    if text.pop("verbosity", None) is not None:
        left_out.append("text.verbosity")
    if text:
        fields["text"] = text
    reasoning = _object(fields, "reasoning")
    if "summary" in reasoning:
        left_out.append("reasoning.summary")
    if (effort := reasoning.get("effort")) is not None:
        if "reasoning_effort" in _taken(target.provider, target.model) and not _wants_thinking_back(target, fields):
            fields["reasoning"] = {"effort": effort}
        else:
            left_out.append("reasoning.effort")
    for each in _list(fields, "include"):
        if as_text(each) not in _INCLUDED_BESIDE:
            raise _refusal(target, "include")
        left_out.append(f"include: {each}")
    if fields.pop("top_logprobs", 0):
        raise _refusal(target, "top_logprobs")


def _fit_tools(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """Raises RequestError where the answer has to use what would be left out."""
    offered = objects(_list(fields, "tools"))
    taken = [tool for tool in offered if not _is_beside(tool, left_out)]
    choice = fields.get("tool_choice")
    must_use = choice == "required" or as_text(as_object(choice).get("type")) in _OFFERED_BESIDE
    if must_use and len(taken) < len(offered):
        raise _refusal(target, "tool_choice")
    if taken:
        fields["tools"] = taken


def _wants_thinking_back(target: Target, fields: JsonObject) -> bool:
    """Whether the calls of this turn stand there without the thinking before them, which Anthropic's models want to see
    as long as they are to think, and which clients may not have kept."""
    if not speaks_messages(target.provider, target.model):
        return False
    for item in _this_turn(objects(fields.get("input")), _is_asked):
        if item.get("type") == "reasoning" and is_marked(item.get("encrypted_content")):
            return False
        if as_text(item.get("type")).endswith("_call"):
            return True
    return False


def _fit_chat(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """The same of clients of chat: few of them keep `thinking_blocks`."""
    if not speaks_messages(target.provider, target.model):
        return
    called = (each for each in _this_turn(objects(fields.get("messages")), _is_users) if each.get("tool_calls"))
    first = next(called, None)
    if first is not None and not first.get("thinking_blocks"):
        left_out += [name for name in ("reasoning_effort", "thinking") if fields.pop(name, None) is not None]


def _fit_gemini(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """The same of clients of Gemini's format, whose seals are of its own kind; and what holds in chat of all else that
    they say of the answer."""
    if "generationConfig" in fields:
        fields["generationConfig"] = _fit_generation(target, _object(fields, "generationConfig"), left_out)
    chat, unthought = as_chat(fields), list[str]()
    _fit_chat(target, chat, unthought)
    if unthought:
        config = as_object(fields["generationConfig"])
        kept = {name: value for name, value in config.items() if name not in ("thinkingConfig", "thinking_config")}
        fields["generationConfig"] = kept
        left_out.append("generationConfig.thinkingConfig")


def _fit_generation(target: Target, config: JsonObject, left_out: list[str]) -> JsonObject:
    kept: JsonObject = {}
    for name, value in config.items():
        known, label = chat_name(name), f"generationConfig.{name}"
        if value is None or _is_usual(known, value):
            continue
        parameter = "reasoning_effort" if known == "thinkingConfig" else known
        if parameter in _HINTS and parameter not in _taken(target.provider, target.model):
            left_out.append(label)
        elif _has(target, parameter):
            kept[name] = value
        else:
            raise _refusal(target, label)
    return kept


def _this_turn(said: Sequence[JsonObject], begins: Callable[[JsonObject], bool]) -> Sequence[JsonObject]:
    """What was said since a person spoke last."""
    return said[max((at for at, each in enumerate(said) if begins(each)), default=0) :]


def _is_asked(item: JsonObject) -> bool:
    return item.get("role") not in (None, "assistant")


def _is_users(message: JsonObject) -> bool:
    return message.get("role") == "user"


def _is_beside(tool: JsonObject, left_out: list[str]) -> bool:
    kind = as_text(tool.get("type"))
    if kind in _OFFERED_BESIDE:
        left_out.append(f"tool {as_text(tool.get('name'))[:_LONGEST_NAME] or kind}")
    return kind in _OFFERED_BESIDE


def _object(fields: JsonObject, name: str) -> JsonObject:
    """A field, taken out. Raises RequestError (400) where it is no object, and there."""
    value = fields.pop(name, {})
    if not isinstance(value, dict):
        raise _mistaken(name, "an object")
    return value


def _list(fields: JsonObject, name: str) -> list[object]:
    """The same of a list."""
    value = fields.pop(name, [])
    if not isinstance(value, list):
        raise _mistaken(name, "a list")
    return value


def _mistaken(name: str, kind: str) -> RequestError:
    return RequestError(400, f"`{name}` must be {kind}.", code="invalid_type", param=name)


def _refusal(target: Target, name: str) -> RequestError:
    message = (
        f"The parameter `{name}` changes the answer, and {target.provider}/{target.model} is called in a format that"
        f" does not have it. Leave it out, or ask for a model whose provider speaks {target.wire_format}."
    )
    return RequestError(400, message, code="unsupported_parameter", param=name)
