"""Gemini's generateContent at providers that speak another format."""

import msgspec

from streamviz.core.json_value import JsonObject, as_object
from streamviz.core.wire import GEMINI, OPENAI_CHAT
from streamviz.core.wire.gemini_as_chat import as_chat, chat_name
from streamviz.core.wire.translator import Translator
from streamviz.upstream.answer_bytes import translated
from streamviz.upstream.formats.chat import fit_chat
from streamviz.upstream.formats.translated_format import TranslatedFormat, is_any_json
from streamviz.upstream.lite import litellm
from streamviz.upstream.model_parameters import has, taken_by
from streamviz.upstream.request_fields import HINTS, is_usual, object_out, refusal
from streamviz.upstream.request_types import Json
from streamviz.upstream.targets import Target
from streamviz.upstream.translated_answer import Opened


class _Generation(msgspec.Struct, rename="camel"):
    max_output_tokens: float | None = None
    stop_sequences: list[str] | None = None
    response_schema: Json | None = None
    response_json_schema: Json | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    thinking_config: Json | None = None


class _Request(msgspec.Struct, rename="camel"):
    tools: Json | list[Json] | None = None
    generation_config: _Generation | None = None


class Gemini(TranslatedFormat):
    """Requests are converted to chat by `core/wire/gemini_as_chat.py`, not by LiteLLM."""

    types = _Request

    def takes(self, target: Target, name: str) -> bool:
        return name != "safetySettings"

    def fit(self, target: Target, fields: JsonObject, left_out: list[str]) -> None:
        """As for chat, whose clients may not have kept thinking either: signatures are of Gemini's own kind here. Also
        everything else that a request says about the answer, as far as chat has it."""
        if "generationConfig" in fields:
            fields["generationConfig"] = _fit_generation(target, object_out(fields, "generationConfig"), left_out)
        chat, unthought = as_chat(fields), list[str]()
        fit_chat(target, chat, unthought)
        if unthought:
            config = as_object(fields["generationConfig"])
            kept = {name: value for name, value in config.items() if name not in ("thinkingConfig", "thinking_config")}
            fields["generationConfig"] = kept
            left_out.append("generationConfig.thinkingConfig")

    def asks_for_json(self, fields: JsonObject) -> str:
        return "generationConfig.responseMimeType" if is_any_json(as_chat(fields).get("response_format")) else ""

    async def call(self, target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
        where = {name: arguments[name] for name in ("model", "api_base", "api_key") if name in arguments}
        chat = {**as_chat(arguments), **where, "stream": True, "stream_options": {"include_usage": True}}
        response: object = await litellm.acompletion(**chat, max_retries=0)
        return await translated(response, Translator(OPENAI_CHAT.name, GEMINI.name, most_blocks=most_blocks), arguments)

    def as_chat(self, target: Target, fields: JsonObject) -> JsonObject:
        return as_chat(fields)

    def to_count(self, arguments: JsonObject) -> tuple[JsonObject, str]:
        return {**arguments, **as_chat(arguments)}, "totalTokens"


def _fit_generation(target: Target, config: JsonObject, left_out: list[str]) -> JsonObject:
    kept: JsonObject = {}
    for name, value in config.items():
        known, label = chat_name(name), f"generationConfig.{name}"
        if value is None or is_usual(known, value):
            continue
        parameter = "reasoning_effort" if known == "thinkingConfig" else known
        if known == "thinkingConfig" and _has_budget(as_object(value)):
            left_out.append(f"{label}.thinkingBudget")
        if parameter in HINTS and parameter not in taken_by(target.provider, target.model):
            left_out.append(label)
        elif has(target, parameter):
            kept[name] = value
        else:
            raise refusal(target, label)
    return kept


def _has_budget(thinking: JsonObject) -> bool:
    """Whether it says in tokens how much to think, which chat says in words; -1 leaves that to the model."""
    return thinking.get("thinkingBudget", thinking.get("thinking_budget")) not in (None, -1)
