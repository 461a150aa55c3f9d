"""What was said in a conversation, in one normal form, so that a later request that repeats it is recognised.

Only what a turn says and what it calls counts. Clients repeat a text as one part or as several, arguments as JSON or as
text, and add `cache_control`, ids, thinking and reminders of their own: none of that counts. Of a long text only its
two ends and its length are looked at, so a turn costs the same whatever its size.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

import msgspec

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.instead import Instead
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, decode_strictly
from streamviz.core.request import PLAIN
from streamviz.core.request_parts import ANSWERING, BETWEEN_AGENTS, SYSTEM_ROLES, readable
from streamviz.core.wire.gemini_request import either
from streamviz.proxy.made_messages import beginning_of
from streamviz.proxy.retold import as_first_said

_ANSWERS_TEXT = (BlockKind.CONTENT, BlockKind.REFUSAL)
_ENDS = 2_000
_LONGEST_ARGUMENTS = 250_000
# The most texts and calls that identify a turn, and the most items read to find them.
_MOST_PARTS = 64
_MOST_ITEMS = 256
_MOST_FIRST = 30
# A shorter text does not count as an errand: calls contain many of those.
TELLING_ERRAND = 40
_MOST_ERRANDS = 8
# What agents put before a person's words: `<system-reminder>…</system-reminder>`, `<environment_context>`. Cursor puts
# the words themselves into an element.
_OPENING = re.compile(r"\s{0,1000}<(?!user_query>)([A-Za-z]{1,20}[-_][A-Za-z_-]{1,40}|INSTRUCTIONS)>")
# Codex begins with the files of instructions for agents, each below a line that names it.
_INSTRUCTIONS = re.compile(r"\s{0,1000}# AGENTS\.md instructions for [^\n]{0,1000}\n")
_MOST_WRAPPED = 20
# How clients write thinking that the format has no other place for, such as that of another vendor's model.
_THOUGHT = re.compile(r"\s{0,1000}<(think|thinking)>")
# smolagents repeats an answer's calls in its text, as Python literals, and appends the closing tag to its code if that
# lacks one.
_CALLS_IN_TEXT = re.compile(r"(?:\A|\n)Calling tools:\n(?=\[\{'id': ')")
_CALL_IN_TEXT = re.compile(r"\{'id': '([^'\\]{1,200})', 'type': 'function', 'function': \{'name': '")
_END_OF_CALLS = "}}]"
# What smolagents puts around the task of an agent that another one manages.
_MANAGED = re.compile(
    r".{0,500}?You have been submitted this task by your manager\.\n---\nTask:\n(.*)\n---\nYou're helping your manager",
    re.DOTALL,
)
_END_OF_CODE = "</code>"
_SYSTEM_FIELDS = ("system", "instructions", "systemInstruction", "system_instruction")
_TEXTS = ("text", "input_text", "output_text", "refusal", "summary_text")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_NOTHING: Mapping[int, Instead] = {}
_sorted = msgspec.json.Encoder(order="sorted").encode


@dataclass(slots=True)
class Turn:
    """What one side said: `said` is its normal form, `weight` the number of characters behind that.

    `texts` are its texts as they are compared, `ids` those of its messages and calls, or of what it answers, `call_ids`
    only those of its own calls, `errands` the longer texts that these calls pass to their tools. `room` is how many
    more characters of arguments are read.
    """

    is_answer: bool
    texts: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    call_ids: list[str] = field(default_factory=list)
    errands: list[str] = field(default_factory=list)
    weight: int = 0
    room: int = 4 * _LONGEST_ARGUMENTS

    @property
    def text(self) -> str:
        """The turn's texts, joined, since clients split them as they like."""
        return "".join(self.texts).strip()

    @property
    def said(self) -> bytes:
        """The normal form: the text and the calls."""
        text = self.text
        if self.is_answer:
            text = text.removesuffix(_END_OF_CODE).rstrip()
        return "\x1e".join([brief(text), *self.calls]).encode("utf-8", "surrogatepass")

    def say(self, text: str) -> None:
        """Add a text to this turn."""
        if text and len(self.texts) < _MOST_PARTS:
            self.texts.append(self._answered(text) if self.is_answer else without_reminders(text))
            self.weight += len(self.texts[-1])

    def _answered(self, text: str) -> str:
        text = _without_thoughts(text)
        begun = _CALLS_IN_TEXT.search(text) if text.endswith(_END_OF_CALLS) else None
        if begun is None:
            return text
        ids = _CALL_IN_TEXT.findall(text, begun.end(), begun.end() + _LONGEST_ARGUMENTS)[:_MOST_PARTS]
        self.ids += ids
        self.call_ids += ids
        return text[: begun.start()]

    def call(self, name: str, arguments: object, id: object) -> None:
        """Add a tool call."""
        if len(self.calls) >= _MOST_PARTS:
            return
        told = _normal(arguments) if self._has_room(arguments) else ""
        self.calls.append(f"{name}\x1f{told}")
        self.weight += len(name) + len(told)
        if isinstance(id, str) and id:
            self.ids.append(id)
            self.call_ids.append(id)

    def _has_room(self, arguments: object) -> bool:
        self.room -= len(arguments) if isinstance(arguments, str) else 0
        return self.room >= 0

    def name(self, id: object) -> None:
        """Add an id by which this turn, or what it answers, is known."""
        if isinstance(id, str) and id:
            self.ids.append(beginning_of(id))


def turns_backwards(said: object) -> Iterator[Turn]:
    """The turns of a request from the last to the first, without the system prompt. `said` is the field that has them,
    in any format. In OpenAI's responses format this may be a bare text, and one answer may be several items."""
    if isinstance(said, str):
        said = [{"role": "user", "content": said}]
    # The items of an answer have types of their own. Messages are complete and never joined.
    answer: list[JsonObject] = []
    for item in map(as_object, reversed(as_list(said))):
        if item.get("role") in SYSTEM_ROLES:
            continue
        if "type" in item and _is_part_of_answer(item):
            answer.append(item)
        else:
            if answer:
                yield _turn(answer[::-1])
                answer = []
            yield from (_turn([each]) for each in reversed(as_first_said(item)))
    if answer:
        yield _turn(answer[::-1])


def system_prompt_of(fields: JsonObject, turns: str) -> bytes:
    """A request's system prompt: what precedes its first turn, or has a field of its own."""
    said = map(as_object, as_list(fields.get(turns))[:_MOST_FIRST])
    first = list(takewhile(lambda item: item.get("role") in SYSTEM_ROLES, said))
    own = (fields[name] for name in _SYSTEM_FIELDS if name in fields)
    # Gemini's is a turn.
    first += [each if isinstance(each, dict) else {"content": each} for each in own]
    return _turn(first).said if first else b""


def asked_first(said: object) -> Iterator[Turn]:
    """What a person, or an agent in their place, said in the first turns, in order."""
    items = [{"role": "user", "content": said}] if isinstance(said, str) else as_list(said)[:_MOST_FIRST]
    # Clients of Gemini's format may leave the role out.
    return (_turn([item]) for item in map(as_object, items) if (item.get("role") or "user") == "user")


def answers_of(blocks: Iterable[StreamBlock], instead: Mapping[int, Instead] = _NOTHING) -> list[Turn]:
    """What each choice of an answer said, as its client has it: `instead` has what the client got in place of blocks,
    by ordinal, and after all of them."""
    answers: dict[int, Turn] = {}
    behind = dict(instead)
    for block in blocks:
        other = behind.pop(block.ordinal, None)
        answer = answers.setdefault(block.choice if other is None else other.choice, Turn(is_answer=True))
        if other is not None and other.kind is not block.kind:
            answer.say(other.text)
        else:
            _tell(answer, block, block.text if other is None else other.text)
    for other in behind.values():
        answers.setdefault(other.choice, Turn(is_answer=True)).say(other.text)
    return [answer for answer in answers.values() if answer.weight or answer.ids]


def _tell(answer: Turn, block: StreamBlock, text: str) -> None:
    """Add a block to the answer; `text` is its text, or its arguments."""
    if isinstance(block, ToolCallStreamBlock):
        answer.call(block.name, text, block.id)
        if len(answer.calls) < _MOST_PARTS and answer.room >= 0:
            answer.errands += _errands_in(text)
        return
    answer.name(block.id)
    if block.kind in _ANSWERS_TEXT:
        answer.say(text)


def without_reminders(text: str) -> str:
    """What follows the agent's own elements at the beginning of a text; only the first few are looked at."""
    at = 0
    for _ in range(_MOST_WRAPPED):
        if (told := _INSTRUCTIONS.match(text, at)) is not None:
            at = told.end()
        opening = _OPENING.match(text, at)
        end = -1 if opening is None else text.find(f"</{opening[1]}>", opening.end())
        if opening is None or end < 0:
            break
        at = end + len(opening[1]) + 3
    return text[at:]


def _without_thoughts(text: str) -> str:
    opening = _THOUGHT.match(text)
    end = -1 if opening is None else text.find(f"</{opening[1]}>", opening.end())
    return text if opening is None or end < 0 else text[end + len(opening[1]) + 3 :]


def _is_part_of_answer(item: JsonObject) -> bool:
    """Whether this is one of the items that make up an answer in OpenAI's responses format."""
    kind = as_text(item.get("type"))
    if kind in ("", "message"):
        return kind == "message" and item.get("role") == "assistant"
    return kind != BETWEEN_AGENTS and not kind.endswith("_output")


def _turn(items: list[JsonObject]) -> Turn:
    first = items[0]
    turn = Turn(is_answer=first.get("role") in ANSWERING or _is_part_of_answer(first))
    for item in items[:_MOST_ITEMS]:
        _read(item, turn)
    return turn


def _read(item: JsonObject, turn: Turn) -> None:
    """Add a message or an item to the turn."""
    if item.keys() == PLAIN and isinstance(content := item["content"], str):
        turn.say(content)
        return
    turn.name(item.get("id"))
    turn.name(item.get("tool_call_id"))
    kind = as_text(item.get("type"))
    if kind.endswith("_output"):
        turn.name(item.get("call_id"))
    if kind in _THOUGHTS or kind == "item_reference":
        return
    if kind.endswith("_call"):
        given = next((item[key] for key in ("arguments", "input", "action", "operation") if key in item), "")
        turn.call(as_text(item.get("name")) or kind.removesuffix("_call"), given, item.get("call_id"))
        return
    content = item.get("output") if kind.endswith("_output") else item.get("content", item.get("parts"))
    for part in _parts(content):
        _read_part(part, turn)
    turn.say(as_text(item.get("refusal")))
    for call in map(as_object, as_list(item.get("tool_calls"))[:_MOST_PARTS]):
        given = as_object(call.get("function")) or as_object(call.get("custom"))
        turn.call(as_text(given.get("name")), given.get("arguments", given.get("input")), call.get("id"))
    if legacy := as_object(item.get("function_call")):
        turn.call(as_text(legacy.get("name")), legacy.get("arguments"), None)


def _parts(content: object) -> list[object]:
    return [content] if isinstance(content, str) else as_list(content)[:_MOST_PARTS]


def _read_part(content: object, turn: Turn) -> None:
    if isinstance(content, str):
        turn.say(content)
        return
    part = as_object(content)
    kind = as_text(part.get("type"))
    if kind in _TEXTS:
        turn.say(as_text(part.get("text")) or as_text(part.get("refusal")))
    elif kind.endswith("_use"):
        turn.call(as_text(part.get("name")), part.get("input"), part.get("id"))
    elif kind.endswith("_result"):
        turn.name(part.get("tool_use_id"))
        for inner in _parts(part.get("content")):
            _read_part(inner, turn)
    elif not kind:
        _read_untyped(part, turn)
    elif said := readable(part):
        turn.say(said)
    elif kind not in _THOUGHTS:
        turn.say(_medium(kind, part))


def _read_untyped(part: JsonObject, turn: Turn) -> None:
    """Add a part in Gemini's format, where parts have no type."""
    if part.get("thought") is True:
        return
    turn.say(as_text(part.get("text")))
    if call := either(part, "functionCall"):
        turn.call(as_text(call.get("name")), call.get("args"), call.get("id"))
    if result := either(part, "functionResponse"):
        turn.name(result.get("id"))
        turn.say(brief(_sorted(result.get("response")).decode()))
    if media := either(part, "inlineData") or either(part, "fileData"):
        turn.say(_medium("media", {"source": media}))


def _medium(kind: str, part: JsonObject) -> str:
    """What distinguishes one image, file or sound from another."""
    data = next((part[key] for key in ("image_url", "source", "file", "input_audio", "file_id") if key in part), "")
    inner = as_object(data)
    told = [
        as_text(data),
        *(as_text(inner.get(key)) for key in ("url", "data", "file_data", "file_id", "fileUri", "file_uri")),
    ]
    return f"[{kind} {brief(''.join(told))}]"


def brief(text: str) -> str:
    """What a text is compared by: all of it, or the ends and the length of a long one."""
    return text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]}\x1f{len(text)}\x1f{text[-_ENDS:]}"


def _errands_in(arguments: str) -> list[str]:
    """What a call with these arguments may tell another agent."""
    try:
        given = as_object(decode_strictly(arguments)) if len(arguments) <= _LONGEST_ARGUMENTS else {}
    except ValueError:
        return []
    texts = [text for text in given.values() if isinstance(text, str) and len(text) >= TELLING_ERRAND]
    return texts[:_MOST_ERRANDS]


def errand_of(told: str) -> str:
    """What a call may have said, of a text that an agent was told."""
    managed = _MANAGED.match(told)
    return managed[1] if managed else told


def _normal(arguments: object) -> str:
    """Arguments in one normal form, whether they came as text or decoded."""
    if isinstance(arguments, str):
        if len(arguments) > _LONGEST_ARGUMENTS:
            return ""
        try:
            arguments = decode_strictly(arguments) if arguments.strip() else {}
        except ValueError:
            return brief(str(arguments).strip())
        if isinstance(arguments, str):
            return brief(arguments)
    shape = {key: brief(value) if isinstance(value, str) else value for key, value in as_object(arguments).items()}
    return brief(_sorted(shape if isinstance(arguments, dict) else arguments).decode())
