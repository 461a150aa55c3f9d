"""What a provider of another format can take of a request.

What it cannot take is left out and listed if the answer does not depend on it, and refused if it would change the
answer.
"""

from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.core.wire import ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES, WIRE_FORMATS
from streamviz.core.wire.gemini_as_chat import as_chat, chat_name
from streamviz.upstream import calls_at_once, earlier_calls, message_blocks, response_items, written_out
from streamviz.upstream.chat_parts import TAKE_OPENAIS_TOOLS, require_sayable, with_refusals
from streamviz.upstream.kept_thinking import wants_thinking_back, wants_thinking_blocks
from streamviz.upstream.model_parameters import EFFORTS, drops_json_mode, has, may_not_think, samples, taken_by
from streamviz.upstream.offered_tools import fit_chat_tools, fit_messages_tools, fit_responses_tools
from streamviz.upstream.provider_formats import speaks_messages, speaks_responses
from streamviz.upstream.request_fields import is_usual, list_out, object_out, refusal
from streamviz.upstream.request_types import require_types
from streamviz.upstream.targets import Target

_TO_US = frozenset({"model", "metadata"})
# Hints to the client's own vendor: about caches, records, billing, effort, filters, the cost of images, and how its
# events are written.
_HINTS = frozenset(
    "betas cache_control client_metadata context_management diagnostics inference_geo labels mediaResolution prediction"
    " prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort safetySettings safety_identifier"
    " seed service_tier speed store stream_options truncation user verbosity".split()
)
# What a provider keeps or runs by itself; one that is called in the chat format does neither.
_DONE_THERE = frozenset({"background", "container", "max_tool_calls", "mcp_servers", "previous_response_id"})
# Hints in OpenAI's responses format that LiteLLM does not convert to chat.
_LOST = frozenset({"store", "truncation", "prompt_cache_key", "prompt_cache_retention"})
# Parts of an answer that can be missing without changing the rest.
_INCLUDED_BESIDE = frozenset(
    {"reasoning.encrypted_content", "web_search_call.action.sources", "code_interpreter_call.outputs"}
)
# Names in all formats, and in chat.
_SAMPLING = {"temperature": "temperature", "top_p": "top_p", "topP": "top_p", "top_k": "top_k", "topK": "top_k"}
_EFFORTS = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}


class Fitted(NamedTuple):
    """A request that a provider can take, and what was left out of it, by name."""

    request: JsonObject
    left_out: tuple[str, ...]


def fit(target: Target, request: JsonObject, *, as_chat: bool = False) -> Fitted:
    """Fit a request to its provider. `as_chat` says that the provider is called in the chat format, whatever else it
    speaks. Raises RequestError (400) for what it cannot take although the answer depends on it, and for values of wrong
    types."""
    require_types(target.wire_format, request)
    if target.provider not in written_out.KEEP_REFERENCES:
        written_out.require_short(request)
    left_out: list[str] = []
    is_chat = as_chat or _is_called_as_chat(target)
    fields = _fit_fields(target, request, left_out, is_chat=is_chat)
    if target.wire_format == GEMINI.name:
        _fit_gemini(target, fields, left_out)
    elif target.wire_format == OPENAI_CHAT.name:
        require_sayable(target, fields)
        fields["messages"] = earlier_calls.in_messages(with_refusals(fields.get("messages")))
        _fit_chat(target, fields, left_out)
    elif target.wire_format == OPENAI_RESPONSES.name and is_chat:
        _fit_responses(target, fields, left_out)
    elif target.wire_format == ANTHROPIC_MESSAGES.name and is_chat:
        _fit_messages(target, fields, left_out)
    if is_chat:
        _fit_sampling(target, fields, left_out)
        _note_json_mode(target, fields, left_out)
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
        elif not is_usual(name, value):
            raise refusal(target, name)
    return fields


def _is_called_as_chat(target: Target) -> bool:
    if target.wire_format == ANTHROPIC_MESSAGES.name:
        return not speaks_messages(target)
    return target.wire_format != OPENAI_RESPONSES.name or not speaks_responses(target)


def _takes(target: Target, name: str) -> bool:
    """Whether a call in the chat format can have this parameter."""
    if target.wire_format == GEMINI.name:
        return name != "safetySettings"
    if target.wire_format == OPENAI_RESPONSES.name and name in _LOST:
        return False
    return name not in _DONE_THERE and has(target, name)


def _fit_sampling(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """Leave out sampling parameters that a reasoning model sets by itself: agents send them to whatever model they run
    on."""
    where = "generationConfig" if target.wire_format == GEMINI.name else ""
    config = as_object(fields.get(where)) if where else fields
    effort = as_text(fields.get("reasoning_effort")) or as_text(as_object(fields.get("reasoning")).get("effort"))
    effort = effort if effort in EFFORTS else ""
    refused = [
        name
        for name, known in _SAMPLING.items()
        if isinstance(value := config.get(name), int | float)
        and not samples(target.provider, target.model, known, value, effort)
    ]
    if where and refused:
        fields[where] = {name: value for name, value in config.items() if name not in refused}
    elif refused:
        for name in refused:
            del fields[name]
    left_out += [f"{where}.{name}" if where else name for name in refused]


def _note_json_mode(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """List JSON mode, in which the answer may be any JSON, as left out if LiteLLM drops it, as for Anthropic's models:
    those have to be told in words."""
    is_gemini = target.wire_format == GEMINI.name
    asked = {
        "response_format": fields.get("response_format"),
        "text.format": as_object(fields.get("text")).get("format"),
        "generationConfig.responseMimeType": as_chat(fields).get("response_format") if is_gemini else None,
    }
    names = [name for name, format in asked.items() if as_object(format).get("type") == "json_object"]
    if names and drops_json_mode(target.provider, target.model):
        left_out += names


def _fit_messages(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """Thinking and effort are passed on as effort, if the model has such a parameter."""
    fit_messages_tools(target, fields, left_out)
    messages = list_out(fields, "messages")
    calls_at_once.require_few(calls_at_once.in_messages(messages))
    fields["messages"] = message_blocks.sayable(target, messages, left_out)
    if not fields.get("stop_sequences"):
        fields.pop("stop_sequences", None)
    elif not has(target, "stop"):
        raise refusal(target, "stop_sequences")
    config = object_out(fields, "output_config")
    effort = _EFFORTS.get(as_text(config.get("effort")), "")
    reasons = "reasoning_effort" in taken_by(target.provider, target.model)
    kind = as_text(as_object(fields.get("thinking")).get("type"))
    may_stay = {"adaptive": False, "enabled": reasons, "disabled": may_not_think(target.provider, target.model)}
    if not may_stay.get(kind, True):
        del fields["thinking"]
        left_out.append("thinking")
    if effort and reasons and "thinking" not in fields:
        fields["reasoning_effort"] = effort
    elif effort:
        left_out.append("output_config.effort")
    if schema := as_object(as_object(config.get("format")).get("schema")):
        fields["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _fit_responses(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    fit_responses_tools(target, fields, left_out)
    if isinstance(items := fields.get("input"), list):
        fields["input"] = said = response_items.sayable(target, items, left_out)
        calls_at_once.require_few(calls_at_once.in_items(said))
    text = dict(object_out(fields, "text"))
    if text.pop("verbosity", None) is not None:
        left_out.append("text.verbosity")
    if text:
        fields["text"] = text
    reasoning = object_out(fields, "reasoning")
    if "summary" in reasoning:
        left_out.append("reasoning.summary")
    if (effort := reasoning.get("effort")) is not None:
        if "reasoning_effort" in taken_by(target.provider, target.model) and not wants_thinking_back(target, fields):
            fields["reasoning"] = {"effort": effort}
        else:
            left_out.append("reasoning.effort")
    for each in list_out(fields, "include"):
        if as_text(each) not in _INCLUDED_BESIDE:
            raise refusal(target, "include")
        left_out.append(f"include: {each}")
    if fields.pop("top_logprobs", 0):
        raise refusal(target, "top_logprobs")


def _fit_chat(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """Leave out thinking if the model would have to see its earlier thinking, which clients of chat may not have
    kept."""
    calls_at_once.require_few(calls_at_once.in_chat(fields.get("messages")))
    if target.provider not in TAKE_OPENAIS_TOOLS:
        fit_chat_tools(fields)
    if wants_thinking_blocks(target, fields):
        left_out += [name for name in ("reasoning_effort", "thinking") if fields.pop(name, None) is not None]


def _fit_gemini(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """The same for clients of Gemini's format, whose signatures are of its own kind, and everything else that they say
    about the answer, as far as chat has it."""
    if "generationConfig" in fields:
        fields["generationConfig"] = _fit_generation(target, object_out(fields, "generationConfig"), left_out)
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
        if value is None or is_usual(known, value):
            continue
        parameter = "reasoning_effort" if known == "thinkingConfig" else known
        if known == "thinkingConfig" and _has_budget(as_object(value)):
            left_out.append(f"{label}.thinkingBudget")
        if parameter in _HINTS and parameter not in taken_by(target.provider, target.model):
            left_out.append(label)
        elif has(target, parameter):
            kept[name] = value
        else:
            raise refusal(target, label)
    return kept


def _has_budget(thinking: JsonObject) -> bool:
    """Whether it says in tokens how much to think, which chat says in words; -1 leaves that to the model."""
    return thinking.get("thinkingBudget", thinking.get("thinking_budget")) not in (None, -1)
