"""What was said in a conversation, in one normal form, so that a later request's word for it is known again.

Of a turn counts what it says and what it calls. Clients repeat a text as one part or as several, arguments as JSON or
as text, and put `cache_control`, ids, thinking and reminders of their own beside it: none of that counts. Of something
long its two ends and its length are looked at, so a turn costs the same whatever its size.
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
from streamviz.core.wire.gemini_request import either
from streamviz.proxy.made_messages import beginning_of

_ANSWERS_TEXT = (BlockKind.CONTENT, BlockKind.REFUSAL)
_ENDS = 2_000
_LONGEST_ARGUMENTS = 250_000
# Texts and calls that a turn is told by, and items that are read for them.
_MOST_PARTS = 64
_MOST_ITEMS = 256
_MOST_FIRST = 30
# A shorter text is no errand: a call gives many such.
TELLING_ERRAND = 40
_MOST_ERRANDS = 8
# What agents put before a person's words: `<system-reminder>…</system-reminder>`, `<environment_context>`. Cursor has
# the words themselves in an element.
_OPENING = re.compile(r"\s{0,1000}<(?!user_query>)([A-Za-z]{1,20}[-_][A-Za-z_-]{1,40}|INSTRUCTIONS)>")
# Codex's first words: the files with an agent's instructions, each below a line that names it.
_INSTRUCTIONS = re.compile(r"\s{0,1000}# AGENTS\.md instructions for [^\n]{0,1000}\n")
_MOST_WRAPPED = 20
# As clients write thinking that the format has no other place for, such as that of another vendor's model.
_THOUGHT = re.compile(r"\s{0,1000}<(think|thinking)>")
# smolagents repeats an answer's calls in its text, as Python writes them, and ends the code that it says if it did not.
_CALLS_IN_TEXT = re.compile(r"(?:\A|\n)Calling tools:\n(?=\[\{'id': ')")
_CALL_IN_TEXT = re.compile(r"\{'id': '([^'\\]{1,200})', 'type': 'function', 'function': \{'name': '")
_END_OF_CALLS = "}}]"
_END_OF_CODE = "</code>"
_STANDING = ("system", "developer")
_NAMES_OF_STANDING = ("system", "instructions", "systemInstruction", "system_instruction")
_ANSWERING = ("assistant", "model")
_TEXTS = ("text", "input_text", "output_text", "refusal", "summary_text")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_NOTHING: Mapping[int, Instead] = {}
_sorted = msgspec.json.Encoder(order="sorted").encode


@dataclass(slots=True)
class Turn:
    """What one side said: `said` is its normal form, `weight` how many characters that stands for.

    `texts` are its texts as they are told apart, `ids` those of its messages and calls, or of what it answers,
    `call_ids` of its own calls alone, `errands` the longer texts that these give to their tools. `room` is how many
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
    def said(self) -> bytes:
        """A turn's texts count as one, since clients cut them as they like."""
        text = "".join(self.texts).strip()
        if self.is_answer:
            text = text.removesuffix(_END_OF_CODE).rstrip()
        return "\x1e".join([brief(text), *self.calls]).encode("utf-8", "surrogatepass")

    def say(self, text: str) -> None:
        """Another text of this turn."""
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
        """Another call of a tool."""
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
        """An id by which this turn, or what it answers, is known."""
        if isinstance(id, str) and id:
            self.ids.append(beginning_of(id))


def turns_backwards(said: object) -> Iterator[Turn]:
    """The turns of a request from the last to the first, without what stands over them. `said` is the field that has
    them, in any format: OpenAI's responses may have a bare text there, and say one answer in several items."""
    if isinstance(said, str):
        said = [{"role": "user", "content": said}]
    # An answer's items have types of their own; messages, which say all at once, are never put together.
    answer: list[JsonObject] = []
    for item in map(as_object, reversed(as_list(said))):
        if item.get("role") in _STANDING:
            continue
        if "type" in item and _is_part_of_answer(item):
            answer.append(item)
        else:
            if answer:
                yield _turn(answer[::-1])
                answer = []
            yield _turn([item])
    if answer:
        yield _turn(answer[::-1])


def standing(fields: JsonObject, turns: str) -> bytes:
    """The words that stand over a request's conversation: before its first turn, or in a field of their own."""
    said = map(as_object, as_list(fields.get(turns))[:_MOST_FIRST])
    first = list(takewhile(lambda item: item.get("role") in _STANDING, said))
    own = (fields[name] for name in _NAMES_OF_STANDING if name in fields)
    # Gemini has them as a turn.
    first += [each if isinstance(each, dict) else {"content": each} for each in own]
    return _turn(first).said if first else b""


def asked_first(said: object) -> Iterator[Turn]:
    """What a person, or an agent in their place, said: of the first turns, in their order."""
    items = [{"role": "user", "content": said}] if isinstance(said, str) else as_list(said)[:_MOST_FIRST]
    # Clients of Gemini's format may leave the role out.
    return (_turn([item]) for item in map(as_object, items) if (item.get("role") or "user") == "user")


def answers_of(blocks: Iterable[StreamBlock], instead: Mapping[int, Instead] = _NOTHING) -> list[Turn]:
    """What each choice of an answer said, as its client has it: `instead` is what it got in place of blocks, by
    ordinal, and behind all of them."""
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
    """`text` is that of the block, or its arguments."""
    if isinstance(block, ToolCallStreamBlock):
        answer.call(block.name, text, block.id)
        if len(answer.calls) < _MOST_PARTS and answer.room >= 0:
            answer.errands += _errands_in(text)
        return
    answer.name(block.id)
    if block.kind in _ANSWERS_TEXT:
        answer.say(text)


def without_reminders(text: str) -> str:
    """What is left of a text behind an agent's own elements; not more than a few are looked at."""
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
    """Whether it is one of the items of which OpenAI's responses make an answer."""
    kind = as_text(item.get("type"))
    if kind in ("", "message"):
        return kind == "message" and item.get("role") == "assistant"
    return not kind.endswith("_output")


def _turn(items: list[JsonObject]) -> Turn:
    first = items[0]
    turn = Turn(is_answer=first.get("role") in _ANSWERING or _is_part_of_answer(first))
    for item in items[:_MOST_ITEMS]:
        _read(item, turn)
    return turn


def _read(item: JsonObject, turn: Turn) -> None:
    """A message, or an item."""
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
    elif kind not in _THOUGHTS:
        turn.say(_medium(kind, part))


def _read_untyped(part: JsonObject, turn: Turn) -> None:
    """A part as Gemini has them."""
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
    """What tells an image, a file or a sound from another."""
    data = next((part[key] for key in ("image_url", "source", "file", "input_audio", "file_id") if key in part), "")
    inner = as_object(data)
    told = [
        as_text(data),
        *(as_text(inner.get(key)) for key in ("url", "data", "file_data", "file_id", "fileUri", "file_uri")),
    ]
    return f"[{kind} {brief(''.join(told))}]"


def brief(text: str) -> str:
    """What a text is told by: all of it, or of a long one its ends."""
    return text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]}\x1f{len(text)}\x1f{text[-_ENDS:]}"


def _errands_in(arguments: str) -> list[str]:
    """What another agent may be told by a call with these arguments."""
    try:
        given = as_object(decode_strictly(arguments)) if len(arguments) <= _LONGEST_ARGUMENTS else {}
    except ValueError:
        return []
    texts = [text for text in given.values() if isinstance(text, str) and len(text) >= TELLING_ERRAND]
    return texts[:_MOST_ERRANDS]


def _normal(arguments: object) -> str:
    """Arguments, whether they came as text or as what that says."""
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
