"""redact: masks secrets and personal data in requests, text and tool arguments."""

import json
from collections import Counter
from collections.abc import Callable

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_text
from streamviz.core.policy import ALLOW, Decision, Edit, Policy, Reading, Tail, Verdict
from streamviz.core.request import ModelCall
from streamviz.core.running import edited, replaced
from streamviz.policies.arguments import read_once, unescaped
from streamviz.policies.finder import Budget, Finder, Found
from streamviz.policies.parameters import TEXT_KINDS, check, texts
from streamviz.policies.secrets import SHAPES

# A private key is the longest thing that is looked for.
LOOK_BACK = 8000
_IN = ("request", "content", "tool_call")
# What a request's texts are in; its other fields say how to answer.
_READ = ("messages", "input", "system", "instructions", "prompt")
_SIGNED = frozenset({"signature", "encrypted_content", "thought_signature"})
_SMALL = 10**8
# So long may be what stands before the bytes in the URL of a picture.
_HEAD = 100


# Of a member (its key, its value, the object it is in): whether it stays as it is.
Spared = Callable[[str, object, JsonObject], bool]


class Redact(Policy):
    """Masks secrets and personal data, and counts by kind what it masked. What was masked is kept nowhere.

    `find` lists what is looked for: API keys by their known shapes, private keys, JSON web tokens, e-mail addresses,
    payment cards and IBANs (with their checksums), US social security numbers, IP addresses. `in` lists where: in
    `request` (what goes upstream, and into the record, is the masked one), in the kinds of text, in `tool_call`
    arguments, which are held for that until they are whole. `mask` is what stands in its place, `{kind}` being what it
    was.

    The record has an answer's blocks masked too, and of each chunk that the client did not get as it came, which is all
    from the first change on, no more than its size and time; of what the client got it has all.
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
                "description": "What is looked for.",
            },
            "in": {
                "type": "array",
                "minItems": 1,
                "items": {"enum": ["request", *TEXT_KINDS, "tool_call"]},
                "default": list(_IN),
                "description": "Where it is looked for.",
            },
            "mask": {"type": "string", "default": "[{kind} removed]", "description": "What stands in its place."},
        },
    }
    look_back = LOOK_BACK

    def __init__(self, parameters: JsonObject) -> None:
        check(parameters, self.parameters_schema)
        self._in = frozenset(texts(parameters.get("in"), _IN))
        wanted = texts(parameters.get("find"), tuple(SHAPES))
        self._finder = Finder([shape for name in wanted for shape in SHAPES[name]], LOOK_BACK, "find")
        self._mask = as_text(parameters.get("mask", "[{kind} removed]"))
        self.masks = bool(self._in - {"request"})

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL and "tool_call" in self._in

    def watches(self, block: StreamBlock) -> bool:
        return block.kind in TEXT_KINDS and block.kind in self._in

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict | None:
        if "request" not in self._in:
            return None
        masking = _Masking(self._finder, self._mask)
        fields = {
            name: masking.value(value, _is_opaque) if name in _READ else value for name, value in request.fields.items()
        }
        if not masking.counts:
            return ALLOW
        found = replaced("", masking.counts, ())
        return Verdict(Decision.REPLACE, found.reason, evidence={"counts": dict(masking.counts)}, request=fields)

    def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
        found, safe = self._finder.find(tail)
        if not found:
            return Reading(safe)
        return Reading(safe, tuple(_edit(each, self._mask) for each in found))

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        if not isinstance(block, ToolCallStreamBlock) or "tool_call" not in self._in:
            return None
        masking = _Masking(self._finder, self._mask)
        try:
            value = read_once(block.arguments or "{}")
        except ValueError:
            masked = masking.unreadable(block.arguments)
        else:
            masked = json.dumps(masking.value(value), ensure_ascii=False)
        return replaced(masked, masking.counts, ()) if masking.counts else ALLOW


class _Masking:
    """What is masked of one request, or one call, and how much of what that was."""

    def __init__(self, finder: Finder, mask: str) -> None:
        self.counts: Counter[str] = Counter()
        self._finder = finder
        self._mask = mask
        self._budget = Budget()

    def text(self, text: str) -> str:
        """A text with all masked in it."""
        found, _ = self._finder.find(Tail(text, 0, is_whole=True), self._budget)
        self.counts.update(each.label for each in found)
        return edited(text, [_edit(each, self._mask) for each in found]) if found else text

    def unreadable(self, text: str) -> str:
        """Arguments that are no JSON, or not the same to every client. Raises ValueError where what is in them is
        written in escapes: it cannot be masked there."""
        masked = self.text(text)
        if "\\" in masked and self._finder.find(Tail(unescaped(masked), 0, is_whole=True), self._budget)[0]:
            raise ValueError("arguments that are no JSON hold what cannot be masked")
        return masked

    def value(self, value: object, spared: Spared | None = None) -> object:
        """A JSON value with all its texts masked but those of members that are spared; the very same where nothing was
        found in it."""
        before = self.counts.total()
        made: object = value
        if isinstance(value, str):
            made = self.text(value)
        elif isinstance(value, int):
            # Of bare numbers only the long ones can be anything.
            made = value if abs(value) < _SMALL else self.text(str(value))
        elif isinstance(value, dict):
            made = {
                self.text(key): item if spared and spared(key, item, value) else self.value(item, spared)
                for key, item in value.items()
            }
        elif isinstance(value, list):
            made = [self.value(item, spared) for item in value]
        return made if self.counts.total() > before else value


def _edit(found: Found, mask: str) -> Edit:
    return Edit(found.start, found.end, mask.replace("{kind}", found.label), found.label)


def _is_opaque(key: str, item: object, around: JsonObject) -> bool:
    """Whether a member of a request is nothing that anybody reads: what the provider signed, or the bytes of a file."""
    if key in _SIGNED:
        return True
    if key == "data":
        return around.get("type") in ("base64", "redacted_thinking") or "format" in around
    return isinstance(item, str) and item.startswith("data:") and ";base64," in item[:_HEAD]
