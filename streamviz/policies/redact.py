"""redact: masks secrets and personal data in requests, text and tool arguments."""

import json
from collections import Counter
from collections.abc import Callable, Iterator

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_text, decode
from streamviz.core.policy import ALLOW, Decision, Edit, Policy, Reading, Tail, Verdict
from streamviz.core.request import ModelCall
from streamviz.core.running import edited, replaced
from streamviz.policies.finder import Finder
from streamviz.policies.parameters import TEXT_KINDS, check, texts
from streamviz.policies.secrets import SHAPES

# A private key is the longest thing that is looked for.
LOOK_BACK = 8000
_IN = ("request", "content", "tool_call")
# What a request's texts are in; its other fields say how to answer.
_READ = ("messages", "input", "system", "instructions", "prompt")
_SIGNED = frozenset({"signature", "encrypted_content", "thought_signature"})
# So long may be what stands before the bytes in the URL of a picture.
_HEAD = 100


# Of a member (its key, its value, the object it is in): whether it stays as it is.
Spared = Callable[[str, object, JsonObject], bool]


class Redact(Policy):
    """Masks secrets and personal data, and counts by kind what it masked. What was masked is kept nowhere by it.

    `find` lists what is looked for: API keys by their known shapes, private keys, JSON web tokens, e-mail addresses,
    payment cards and IBANs (with their checksums), US social security numbers, IP addresses. `in` lists where: in
    `request` (what goes upstream, and into the record, is the masked one), in the kinds of text, in `tool_call`
    arguments, which are held for that until they are whole. `mask` is what stands in its place, `{kind}` being what it
    was.

    The tape of what upstream sent keeps every chunk as it came, also what was masked for the client.
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

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL and "tool_call" in self._in

    def watches(self, block: StreamBlock) -> bool:
        return block.kind in TEXT_KINDS and block.kind in self._in

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict | None:
        if "request" not in self._in:
            return None
        counts: Counter[str] = Counter()
        fields = {
            name: self._masked(value, counts, _is_opaque) if name in _READ else value
            for name, value in request.fields.items()
        }
        if not counts:
            return ALLOW
        found = replaced("", counts, ())
        return Verdict(Decision.REPLACE, found.reason, evidence={"counts": dict(counts)}, request=fields)

    def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
        found, safe = self._finder.find(tail)
        return Reading(safe, tuple(Edit(each.start, each.end, self._mask_of(each.label), each.label) for each in found))

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        if not isinstance(block, ToolCallStreamBlock) or "tool_call" not in self._in:
            return None
        counts: Counter[str] = Counter()
        try:
            value = decode(block.arguments or "{}")
        except ValueError:
            masked = self._mask_text(block.arguments, counts)
        else:
            masked = json.dumps(self._masked(value, counts), ensure_ascii=False)
        return replaced(masked, counts, ()) if counts else ALLOW

    def _masked(self, value: object, counts: Counter[str], spared: Spared | None = None) -> object:
        """A JSON value with all its texts masked but those of members that are spared; the very same where nothing was
        found in it."""
        before = counts.total()
        made: object = value
        if isinstance(value, str):
            made = self._mask_text(value, counts)
        elif isinstance(value, bool):
            return value
        elif isinstance(value, int):
            made = self._mask_text(str(value), counts)
        elif isinstance(value, dict):
            made = {
                self._mask_text(key, counts): (
                    item if spared and spared(key, item, value) else self._masked(item, counts, spared)
                )
                for key, item in value.items()
            }
        elif isinstance(value, list):
            made = [self._masked(item, counts, spared) for item in value]
        return made if counts.total() > before else value

    def _mask_text(self, text: str, counts: Counter[str]) -> str:
        edits = list(self._edits(text))
        counts.update(edit.label for edit in edits)
        return edited(text, edits) if edits else text

    def _edits(self, text: str) -> Iterator[Edit]:
        for found in self._finder.find(Tail(text, 0, is_whole=True))[0]:
            yield Edit(found.start, found.end, self._mask_of(found.label), found.label)

    def _mask_of(self, kind: str) -> str:
        return self._mask.replace("{kind}", kind)


def _is_opaque(key: str, item: object, around: JsonObject) -> bool:
    """Whether a member of a request is nothing that anybody reads: what the provider signed, or the bytes of a file."""
    if key in _SIGNED:
        return True
    if key == "data":
        return around.get("type") in ("base64", "redacted_thinking") or "format" in around
    return isinstance(item, str) and item.startswith("data:") and ";base64," in item[:_HEAD]
