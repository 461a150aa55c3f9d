"""Converting requests of Gemini's generateContent to OpenAI's chat, for providers that speak nothing else.

Whatever does not affect the answer is left out; whatever does, but has no equivalent in chat, is refused.
"""

from collections import defaultdict, deque

from streamviz.core.calls import as_arguments
from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_json_text, as_list, as_object, as_text, objects
from streamviz.core.wire.gemini_request import either
from streamviz.core.wire.gemini_schemas import as_json_schema, camel, declared, functions_of

_CONFIG = {
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "maxOutputTokens": "max_tokens",
    "stopSequences": "stop",
    "candidateCount": "n",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
    "seed": "seed",
}
_OTHERWISE = frozenset({"responseMimeType", "responseSchema", "responseJsonSchema", "thinkingConfig"})
_MODES = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}
_UNSAID = ("", "MODE_UNSPECIFIED")
_TOOL = ("functionDeclarations", "function_declarations")


def as_chat(request: JsonObject) -> JsonObject:
    """The fields of a chat request. Raises RequestError (400) for what has no equivalent there."""
    chat: JsonObject = {"messages": _messages(request), **_config(as_object(request.get("generationConfig")))}
    if request.get("cachedContent"):
        raise _unsayable("cachedContent")
    if tools := [tool for each in objects(request.get("tools")) for tool in _tools(each)]:
        chat["tools"] = tools
        chat |= _choice(either(as_object(request.get("toolConfig")), "functionCallingConfig"))
    return {**chat, "stream": request.get("stream") is True}


def chat_name(name: str) -> str:
    """Chat's name for a member of `generationConfig`; this format's if chat has none."""
    known = camel(name)
    return _CONFIG.get(known, known)


def _messages(request: JsonObject) -> list[JsonObject]:
    system = [_instruction(part) for part in _parts(request.get("systemInstruction"))]
    messages: list[JsonObject] = [{"role": "system", "content": "\n\n".join(system)}] if any(system) else []
    ids = _Ids()
    for content in as_list(request.get("contents")):
        role, parts = as_text(as_object(content).get("role")), _parts(content)
        if role == "model":
            messages += _answer(parts, ids)
        else:
            messages += _question(parts, ids)
    return messages


def _parts(content: object) -> list[JsonObject]:
    """The parts of a content. A string may stand for a part and, in Google's own SDKs, a part for a content."""
    if isinstance(content, str):
        return [{"text": content}]
    if isinstance(content, list):
        return [part for each in content for part in _parts(each)]
    said = as_object(content)
    if "parts" in said or "role" in said:
        return _parts(said.get("parts") or [])
    return [said] if content not in (None, {}) else []


def _instruction(part: JsonObject) -> str:
    if not isinstance(part.get("text"), str):
        raise _unsayable(f"systemInstruction.{_label(part)}")
    return as_text(part["text"])


class _Ids:
    """The ids of calls. Chat matches results to calls by id; in this format both may lack one."""

    def __init__(self) -> None:
        self._count = 0
        self._open: defaultdict[str, deque[str]] = defaultdict(deque)
        self._answered: set[str] = set()

    def of_call(self, call: JsonObject) -> str:
        self._count += 1
        id = as_text(call.get("id")) or f"call_{self._count}"
        self._open[as_text(call.get("name"))].append(id)
        self._answered.discard(id)
        return id

    def has_result(self, result: JsonObject) -> bool:
        """Whether the call that this result names already has one. Gemini CLI sends each result twice after it resumes
        a conversation."""
        return as_text(result.get("id")) in self._answered

    def of_result(self, result: JsonObject) -> str:
        """The id of the call that this answers: its own, or the first of its name without a result, or the name."""
        name = as_text(result.get("name"))
        id = as_text(result.get("id")) or self._first_open(name)
        self._answered.add(id)
        return id

    def _first_open(self, name: str) -> str:
        waiting = self._open[name]
        while waiting:
            if (id := waiting.popleft()) not in self._answered:
                return id
        return name


def _answer(parts: list[JsonObject], ids: _Ids) -> list[JsonObject]:
    """The message for an answer; none if it has neither text nor calls, because some providers refuse that."""
    texts, calls = list[str](), list[JsonObject]()
    for part in parts:
        if part.get("thought") is True:
            continue
        if isinstance(call := part.get("functionCall", part.get("function_call")), dict):
            function = {"name": as_text(call.get("name")), "arguments": as_arguments(call.get("args", {}))}
            calls.append({"id": ids.of_call(call), "type": "function", "function": function})
        elif isinstance(part.get("text"), str):
            texts.append(as_text(part["text"]))
        else:
            raise _unsayable(_label(part))
    message: JsonObject = {"role": "assistant", "content": "".join(texts) or None}
    if calls:
        return [{**message, "tool_calls": calls}]
    return [message] if any(texts) else []


def _question(parts: list[JsonObject], ids: _Ids) -> list[JsonObject]:
    results, said = list[JsonObject](), list[JsonObject]()
    for part in parts:
        if isinstance(result := part.get("functionResponse", part.get("function_response")), dict):
            if ids.has_result(result):
                continue
            content = as_json_text(result.get("response", {}))
            results.append({"role": "tool", "tool_call_id": ids.of_result(result), "content": content})
            said += _shown(result)
        else:
            said.append(_said(part))
    return [*results, {"role": "user", "content": said}] if said else results


def _shown(result: JsonObject) -> list[JsonObject]:
    """The images of a tool's result, sent after it, as not every provider accepts them in a result."""
    pictures = [_said(part) for part in _parts(result.get("parts"))]
    return [{"type": "text", "text": f"What {as_text(result.get('name'))} shows:"}, *pictures] if pictures else []


def _said(part: JsonObject) -> JsonObject:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    data = as_object(part.get("inlineData", part.get("inline_data")))
    kind = as_text(data.get("mimeType", data.get("mime_type")))
    if not kind.startswith("image/"):
        raise _unsayable(_label(part))
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{as_text(data.get('data'))}"}}


def _label(part: JsonObject) -> str:
    return next(iter(part), "part")


def _config(config: JsonObject) -> JsonObject:
    chat: JsonObject = {}
    for name, value in config.items():
        known = chat_name(name)
        if known in _CONFIG.values():
            chat[known] = value
        elif known not in _OTHERWISE:
            raise _unsayable(f"generationConfig.{name}")
    said = {camel(name): value for name, value in config.items()}
    schema = said.get("responseJsonSchema") or as_json_schema(said.get("responseSchema"))
    if schema:
        chat["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    elif said.get("responseMimeType") == "application/json":
        chat["response_format"] = {"type": "json_object"}
    level = as_object(said.get("thinkingConfig"))
    if effort := as_text(level.get("thinkingLevel", level.get("thinking_level"))).lower():
        chat["reasoning_effort"] = effort
    return chat


def _tools(tool: JsonObject) -> list[JsonObject]:
    if other := next((name for name in tool if name not in _TOOL), ""):
        raise _unsayable(f"tools.{other}")
    described = functions_of(tool)
    return [
        {
            "type": "function",
            "function": {
                **{name: value for name, value in made.items() if name != "type"},
                **({"description": own["description"]} if "description" in own else {}),
            },
        }
        for made, own in zip(declared(tool), described, strict=True)
    ]


def _choice(config: JsonObject) -> JsonObject:
    names = as_list(config.get("allowedFunctionNames", config.get("allowed_function_names")))
    mode = as_text(config.get("mode")).upper()
    if len(names) == 1 and mode in ("", "ANY"):
        return {"tool_choice": {"type": "function", "function": {"name": as_text(names[0])}}}
    if names:
        raise _unsayable("toolConfig.functionCallingConfig.allowedFunctionNames")
    if mode in _UNSAID:
        return {}
    if mode not in _MODES:
        raise _unsayable("toolConfig.functionCallingConfig.mode")
    return {"tool_choice": _MODES[mode]}


def _unsayable(name: str) -> RequestError:
    message = (
        f"`{name}` cannot be sent to this model's provider, which does not speak Gemini's format. Leave it out, or call"
        " a model `gemini/…`."
    )
    return RequestError(400, message, code="unsupported_parameter", param=name)
