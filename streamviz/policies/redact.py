"""redact: masks secrets and personal data in requests, text and tool arguments."""

import copy
import json
from collections import Counter
from itertools import groupby

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_object, as_text, object_in
from streamviz.core.policy import Edit, Policy, Reading, Tail
from streamviz.core.readings import edited, replaced
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import ALLOW, Decision, Verdict
from streamviz.core.wire.compaction import COMPACTION
from streamviz.core.wire.openai_responses_seals import SEAL, summary_in
from streamviz.policies.argument_json import read, read_json, unescaped
from streamviz.policies.finder import Budget, Finder, Found
from streamviz.policies.parameters import TEXT_KINDS, check, texts
from streamviz.policies.request_shapes import is_of_answer, is_opaque, is_signed, is_thinking, text_of
from streamviz.policies.secrets import SHAPES

# A private key is the longest thing to look for.
LOOK_BACK = 8000
_IN = ("request", "content", "tool_call")
# The fields that have a request's texts. The others say how to answer, and have texts too: tools, metadata, schemas.
_READ = frozenset("messages input system instructions prompt contents systemInstruction system_instruction".split())
# Their content is written for a tool, whatever its members are called.
_FOR_TOOLS = frozenset({"arguments", "input", "args", "response", "action", "operation", "env"})
# Stands for a turn that was nothing but thinking: providers accept no turn without content.
_LEFT_OUT = {"type": "text", "text": "[thinking left out]"}
_SMALL = 10**8
_LARGE = 10**40
# A text this short cannot hold more matches than can be checked in a few ms.
_SHORT = 500
# Matches to check in text outside blocks, which is read where clients wait, a few thousand characters at a time.
_MOST_BESIDE = 100


class Redact(Policy):
    """Masks secrets and personal data, and counts what it masked by kind. What was masked is kept nowhere.

    `find` lists what to look for: API keys by their known shapes, private keys, JSON web tokens, e-mail addresses,
    payment cards and IBANs (with their checksums), US social security numbers, IP addresses. `in` lists where to look:
    in the `request` (masked before it goes upstream and into the record), in the kinds of text, and in the arguments of
    a `tool_call`, which are held until they are complete. `mask` is the text that replaces a match; `{kind}` in it says
    what was found. Arguments that not all clients read as the same JSON object cannot be masked, and the policy fails.
    In a request, the bytes of files and what the provider signed stay as they are; a number that says how to answer
    becomes 0 if it would be masked. If signed thinking in a turn would be masked, all of that turn's thinking is left
    out, because its provider refuses it changed.

    An answer's blocks are masked in the record too. From the first change on, the record has only the size and time of
    what upstream sent, and all of what the client got.
    """

    kind = "redact"
    parameters_schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "find": {
                "type": "array",
                "minItems": 1,
                "items": {"enum": list(SHAPES)},
                "default": list(SHAPES),
                "description": "What to look for.",
            },
            "in": {
                "type": "array",
                "minItems": 1,
                "items": {"enum": ["request", *TEXT_KINDS, "tool_call"]},
                "default": list(_IN),
                "description": "Where to look.",
            },
            "mask": {"type": "string", "default": "[{kind} removed]", "description": "Text that replaces it."},
        },
    }
    look_back = LOOK_BACK
    reads = frozenset()

    def __init__(self, parameters: JsonObject) -> None:
        check(parameters, self.parameters_schema)
        self._in = frozenset(texts(parameters.get("in"), _IN))
        wanted = texts(parameters.get("find"), tuple(SHAPES))
        self._finder = Finder([shape for name in wanted for shape in SHAPES[name]], LOOK_BACK, "find")
        self._mask = as_text(parameters.get("mask", "[{kind} removed]"))
        self.masks = bool(self._in - {"request"})
        self.masks_summaries = "content" in self._in

    def holds(self, block: StreamBlock) -> bool:
        return (block.kind is BlockKind.TOOL_CALL and "tool_call" in self._in) or self._is_summary(block)

    def _is_summary(self, block: StreamBlock) -> bool:
        return self.masks_summaries and block.kind is BlockKind.OTHER and block.label == COMPACTION

    def watches(self, block: StreamBlock) -> bool:
        return block.kind in TEXT_KINDS and block.kind in self._in

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict | None:
        if "request" not in self._in:
            return None
        self.require_short(request.size <= _SHORT)
        masking = _Masking(self._finder, self._mask)
        fields = {masking.text(name): _masked(masking, name, value) for name, value in request.fields.items()}
        if not masking.counts:
            return ALLOW
        found = replaced("", masking.counts, ())
        return Verdict(Decision.REPLACE, found.reason, evidence={"counts": dict(masking.counts)}, request=fields)

    def kept(self, text: str) -> str:
        return _Masking(self._finder, self._mask).text(text) if "request" in self._in else text

    def found_beside(self, text: str, is_word: bool) -> str:
        if "content" not in self._in:
            return ""
        readings = (text, unescaped(text)) if "\\" in text else (text,)
        budget = Budget(_MOST_BESIDE)
        return next(filter(None, (self._finder.first(each, budget) for each in readings)), "")

    def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
        found, safe = self._finder.find(tail)
        if not found:
            return Reading(safe)
        return Reading(safe, tuple(_edit(each, self._mask) for each in found))

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        if self._is_summary(block):
            return self._on_summary(block)
        if not isinstance(block, ToolCallStreamBlock) or "tool_call" not in self._in:
            return None
        self.require_short(block.length <= _SHORT)
        masking = _Masking(self._finder, self._mask)
        value = read(block)
        if block.is_free_text:
            masked = masking.text(block.arguments)
        else:
            masked = json.dumps(masking.value(value), ensure_ascii=False)
        return replaced(masked, masking.counts, ()) if masking.counts else ALLOW

    def _on_summary(self, block: StreamBlock) -> Verdict:
        """Mask a summary that shortens a conversation, if it can be read: OpenAI's are encrypted."""
        self.require_short(block.length <= _SHORT)
        item = {**object_in(block.text), "type": COMPACTION}
        if not summary_in(item):
            return ALLOW
        masking = _Masking(self._finder, self._mask)
        masked = json.dumps({SEAL: masking.json_text(as_text(item.get(SEAL)))}, ensure_ascii=False)
        return replaced(masked, masking.counts, ()) if masking.counts else ALLOW


def _masked(masking: "_Masking", name: str, value: object) -> object:
    """A field of a request, masked unless it is the model, which decides where the request goes."""
    if name == "model":
        return value
    return masking.value(value, name) if name in _READ else masking.of_settings().value(value)


class _Masking:
    """Masks one request or one call, and counts what it masked by kind."""

    def __init__(self, finder: Finder, mask: str) -> None:
        self.counts: Counter[str] = Counter()
        self._finder = finder
        self._mask = mask
        self._budget = Budget()
        self._has_text_for_numbers = True

    def text(self, text: str) -> str:
        """A text with all matches masked."""
        found, _ = self._finder.find(Tail(text, 0, is_whole=True), self._budget)
        self.counts.update(each.label for each in found)
        return edited(text, [_edit(each, self._mask) for each in found]) if found else text

    def of_settings(self) -> "_Masking":
        """The same for fields that say how to answer, where a number has to stay one."""
        masking = copy.copy(self)
        masking._has_text_for_numbers = False
        return masking

    def value(self, value: object, holder: str | None = None) -> object:
        """A JSON value with all its texts masked; the same object if nothing was found in it.

        `holder` is the key above it in a request, where text that nobody reads stays as it is; None elsewhere.
        """
        before = self.counts.total()
        made: object = value
        if isinstance(value, str):
            made = self.json_text(value) if _is_json_with_escapes(value) else self.text(value)
        elif isinstance(value, int | float):
            made = self._number(value)
        elif isinstance(value, dict):
            made = self._object(value, holder)
        elif isinstance(value, list):
            made = self._list(value, holder)
        return made if self.counts.total() > before else value

    def _list(self, items: list[object], holder: str | None) -> list[object]:
        """Thinking goes back to its model unchanged or not at all: the provider refuses it if it is changed, or if part
        of a turn's thinking is missing. Without any of it, the model does not think in that turn."""
        made = [self.value(item, holder) for item in items]
        if holder is None:
            return made
        pairs = [pair for pair in zip(self._across(made), items, strict=True) if not _is_emptied(*pair)]
        turns = groupby(pairs, lambda pair: is_of_answer(pair[1])) if holder == "input" else [(True, iter(pairs))]
        left = [own for _, turn in turns for own in _unbroken(list(turn))]
        return left or ([_LEFT_OUT] if holder == "content" and items else [])

    def _across(self, items: list[object]) -> list[object]:
        """Mask what is there once neighbouring texts are joined, as providers do: in the text in which it begins."""
        made: list[object] = []
        for is_text, group in groupby(items, lambda item: text_of(item) is not None):
            run = list(group)
            made += self._joined(run) if is_text and len(run) > 1 else run
        return made

    def _joined(self, items: list[object]) -> list[object]:
        texts = [text_of(item) or "" for item in items]
        joined, _ = self._finder.find(Tail("".join(texts), 0, is_whole=True), self._budget)
        # A mention such as `@app.route` may be a part of its own.
        found = [each for each in joined if each.label != "e-mail"]
        self.counts.update(each.label for each in found)
        made, start, first = [], 0, 0
        for item, text in zip(items, texts, strict=True):
            end = start + len(text)
            while first < len(found) and found[first].end <= start:
                first += 1
            last = first
            while last < len(found) and found[last].start < end:
                last += 1
            edits = [_edit_within(each, start, end, self._mask) for each in found[first:last]]
            made.append({**as_object(item), "text": edited(text, edits)} if edits else item)
            start = end
        return made

    def _object(self, value: JsonObject, holder: str | None) -> JsonObject:
        """Names that would be masked alike are numbered, so that no member is lost."""
        made: JsonObject = {}
        alike: Counter[str] = Counter()
        for key, item in value.items():
            name = masked = self.text(key)
            while name != key and (name in value or name in made):
                alike[masked] += 1
                name = f"{masked} {alike[masked] + 1}"
            made[name] = self._member(key, item, value, holder)
        return made

    def _member(self, key: str, item: object, around: JsonObject, holder: str | None) -> object:
        if holder is None:
            return self.value(item)
        if key == "arguments" and isinstance(item, str):
            return self.json_text(item)
        if isinstance(item, str) and is_opaque(key, item, around, holder):
            return item
        return self.value(item, None if key in _FOR_TOOLS else key)

    def json_text(self, text: str) -> str:
        """JSON stays JSON. Other text, such as arguments cut off, is also searched with its escapes decoded."""
        before = self.counts.total()
        try:
            made = json.dumps(self.value(read_json(text)), ensure_ascii=False)
        except ValueError:
            masked = self.text(text)
            before = self.counts.total()
            made, text = self.text(unescaped(masked)), masked
        return made if self.counts.total() > before else text

    def _number(self, number: float) -> object:
        """Mask a number, however it is written, if it is long: short ones cannot be anything to mask."""
        if not _SMALL <= abs(number) < _LARGE:
            return number
        before = self.counts.total()
        made = self.text(str(abs(int(number))))
        if self.counts.total() == before:
            return number
        return made if self._has_text_for_numbers else 0


def _unbroken(turn: list[tuple[object, object]]) -> list[object]:
    """The items of a turn, each given with what it was before: without its thinking if some that is signed changed."""
    is_broken = any(own is not item and is_signed(item) for own, item in turn)
    return [own for own, item in turn if not (is_broken and is_thinking(item))]


def _is_emptied(own: object, item: object) -> bool:
    """Whether all of a text is in the mask of the one before it. Some providers accept no empty one."""
    return own is not item and text_of(own) == ""


def _edit_within(found: Found, start: int, end: int, mask: str) -> Edit:
    """The edit in the text that is from `start` to `end` of the whole; only where the match begins, there is a mask."""
    edit = _edit(found, mask if found.start >= start else "")
    return edit._replace(start=max(found.start, start) - start, end=min(found.end, end) - start)


def _is_json_with_escapes(text: str) -> bool:
    return "\\" in text and text.lstrip()[:1] in ("{", "[")


def _edit(found: Found, mask: str) -> Edit:
    return Edit(found.start, found.end, mask.replace("{kind}", found.label), found.label)
