"""Items of a request in the responses format, as ones that LiteLLM can express in chat: it silently drops any
others."""

from collections import Counter
from typing import NamedTuple

from streamviz.core.calls import name_of
from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_json_text, as_object, as_text
from streamviz.core.request_parts import BETWEEN_AGENTS, each_of, readable
from streamviz.core.wire.compaction import COMPACTION, TRIGGER
from streamviz.upstream.chat_parts import require_heard
from streamviz.upstream.earlier_calls import with_object
from streamviz.upstream.offered_tools import without_namespace
from streamviz.upstream.request_fields import refusal
from streamviz.upstream.summaries import told_summary
from streamviz.upstream.targets import Target

_CALLS = frozenset({"custom_tool_call", "function_call"})
_TAKEN = _CALLS | {"", "message", "reasoning", BETWEEN_AGENTS, TRIGGER}
_RESULTS = frozenset({"custom_tool_call_output", "function_call_output"})
# Calls of OpenAI's own tools that a client carries out, and the member that has the tool's input.
_RUN_HERE = {"apply_patch_call": "operation", "local_shell_call": "action", "shell_call": "action"}
# What OpenAI ran or looked up by itself: the answer that follows says what the model made of it.
_RUN_THERE = frozenset(
    "code_interpreter_call file_search_call image_generation_call mcp_call mcp_list_tools tool_search_call"
    " tool_search_output web_search_call".split()
)
_TEXTS_AND_SOUNDS = frozenset({"input_audio", "input_text", "output_text", "refusal", "text"})
_MEDIA = {"input_file": ("file_data", "file_url"), "input_image": ("image_url",)}
_LONGEST_NAME = 50


def sayable(target: Target, items: list[object], left_out: list[str]) -> list[object]:
    """Items that chat can express. Raises RequestError (400) for what chat cannot express although the answer depends
    on it."""
    said, made = _Items(target, left_out), list[object]()
    for item in items:
        made += said.of(item) if isinstance(item, dict) else (item,)
    return _with_results_first(_without_lone_thinking(made))


def _with_results_first(items: list[object]) -> list[object]:
    """The items with what a user said between calls and their results after the results: in other formats, those come
    directly after the calls. OpenAI's responses may have them anywhere."""
    ahead = Counter(_call_id(item) for item in items if _kind(item) in _RESULTS)
    made, waiting, said = list[object](), set[str](), list[object]()
    for item in items:
        kind, id = _kind(item), _call_id(item)
        if kind in _RESULTS:
            ahead[id] -= 1
            waiting.discard(id)
        elif waiting and as_text(as_object(item).get("role")) not in ("", "assistant"):
            said.append(item)
            continue
        elif kind in _CALLS and ahead[id] > 0:
            waiting.add(id)
        made.append(item)
        if said and not waiting:
            made += said
            said = []
    return made


def _kind(item: object) -> str:
    return as_text(as_object(item).get("type"))


def _call_id(item: object) -> str:
    return as_text(as_object(item).get("call_id"))


def _without_lone_thinking(items: list[object]) -> list[object]:
    """The items without reasoning that no text or call follows in its answer: chat would have an answer with neither,
    which OpenAI refuses."""
    kept: list[object] = []
    is_followed = False
    for item in reversed(items):
        details, kind = as_object(item), _kind(item)
        if kind != "reasoning":
            is_followed = details.get("role") == "assistant" or kind in _CALLS
        elif not is_followed:
            continue
        kept.append(item)
    return kept[::-1]


class _Items(NamedTuple):
    target: Target
    left_out: list[str]

    def of(self, item: JsonObject) -> list[JsonObject]:
        kind = as_text(item.get("type"))
        call = kind.removesuffix("_output")
        if kind in _RUN_THERE:
            self.left_out.append(kind)
            return []
        if kind in _RUN_HERE:
            arguments = as_json_text(item.get(_RUN_HERE[kind]))
            return [{"type": "function_call", **_id(item), "name": name_of(kind), "arguments": arguments}]
        if call in _RUN_HERE:
            return [{"type": "function_call_output", **_id(item), "output": _output(item)}]
        if kind == BETWEEN_AGENTS:
            item = _said_by_user(item)
        if kind == COMPACTION and (summary := told_summary(item)) is not None:
            return [summary]
        if kind == "item_reference" or (not kind and "role" not in item and "id" in item):
            raise _kept_there()  # its type may be left out
        if kind not in _TAKEN and kind not in _RESULTS:
            raise refusal(self.target, kind[:_LONGEST_NAME])
        if kind != "reasoning":
            self._require_sayable(item.get("output" if kind in _RESULTS else "content"))
        return [with_object(without_namespace(item)) if kind == "function_call" else without_namespace(item)]

    def _require_sayable(self, content: object) -> None:
        require_heard(self.target, content)
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and not _is_said(part):
                raise refusal(self.target, _label(part))


def _said_by_user(item: JsonObject) -> JsonObject:
    """What another agent says, as a message of the user's. Codex writes who says it into the text."""
    content = list[object]()
    for part in each_of(item.get("content")):
        said = part if isinstance(part, str) else readable(as_object(part))
        content.append({"type": "input_text", "text": said} if said else part)
    return {"type": "message", "role": "user", "content": content}


def _id(item: JsonObject) -> JsonObject:
    return {"call_id": item.get("call_id") or item.get("id")}


def _output(item: JsonObject) -> str:
    """The output of a call, with its status in front if it failed."""
    output, status = as_json_text(item.get("output")), as_text(item.get("status"))
    return f"{status}: {output}" if output and status == "failed" else output or status


def _is_said(part: JsonObject) -> bool:
    kind = as_text(part.get("type"))
    return kind in _TEXTS_AND_SOUNDS or any(part.get(name) for name in _MEDIA.get(kind, ()))


def _label(part: JsonObject) -> str:
    kind = as_text(part.get("type"))[:_LONGEST_NAME] or "content"
    return f"{kind}.file_id" if part.get("file_id") else kind


def _kept_there() -> RequestError:
    message = (
        "`item_reference` names what only OpenAI has kept. Send the item itself, as SDKs do where `store` is false, or"
        " ask for a model of OpenAI's."
    )
    return RequestError(400, message, code="unsupported_parameter", param="item_reference")
