"""text_rule: finds patterns in running text, to replace matches or to halt the stream."""

from bisect import bisect_left

from streamviz.core.blocks import StreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.json_value import JsonObject, as_text
from streamviz.core.policy import Edit, Policy, Reading, Tail
from streamviz.core.verdicts import Decision, Verdict
from streamviz.policies.finder import Finder, Found, Shape, together
from streamviz.policies.folding import folded_with_places, with_folded
from streamviz.policies.parameters import TEXT_KINDS, check, integer, texts

REPLACEMENT = "[removed]"
LOOK_BACK = 500


class TextRule(Policy):
    """Finds `patterns` in what the model says, even if a match comes in many pieces.

    With the action `replace`, each match is replaced by `replacement`; with `halt`, the stream ends before the first
    match, and `text` is the last that the client gets (if it is empty, a line that names the policy). Each pattern is
    an RE2 regular expression. `in` lists the kinds of block that are read.

    Text is sent as it arrives, except for an ending that may still become a match: at most `look_back` characters of it
    are kept back, so longer matches can slip through. With `normalise`, text is read without invisible characters and
    accents, in compatible forms (NFKC), and with look-alikes of other scripts as Latin letters; encoded text is not
    decoded, because nobody can tell where in running text it begins. Thinking that was changed loses its signature,
    which covered what the model really thought; some providers want it back with the next turn.
    """

    kind = "text_rule"
    parameters_schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["patterns"],
        "properties": {
            "patterns": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "string", "minLength": 1},
                "description": "Regular expressions (RE2).",
            },
            "action": {"enum": ["replace", "halt"], "default": "replace", "description": "What to do on a match."},
            "replacement": {
                "type": "string",
                "default": REPLACEMENT,
                "description": "Text that replaces a match. If empty, what stood around a match may match once joined.",
            },
            "text": {"type": "string", "description": "Text the client gets at the end of a halted stream."},
            "in": {
                "type": "array",
                "minItems": 1,
                "items": {"enum": list(TEXT_KINDS)},
                "default": ["content"],
                "description": "Kinds of block to search.",
            },
            "ignore_case": {"type": "boolean", "default": False, "description": "Match upper and lower case alike."},
            "normalise": {
                "type": "boolean",
                "default": False,
                "description": "Also match look-alike and invisible characters.",
            },
            "look_back": {
                "type": "integer",
                "minimum": 1,
                "maximum": 10_000,
                "default": LOOK_BACK,
                "description": "Most characters to hold back while they may still become a match.",
            },
        },
    }

    reads = frozenset()

    def __init__(self, parameters: JsonObject) -> None:
        check(parameters, self.parameters_schema)
        self.look_back = integer(parameters.get("look_back"), LOOK_BACK)
        self._in = frozenset(texts(parameters.get("in"), ("content",)))
        self._halts = parameters.get("action") == "halt"
        self._replacement = as_text(parameters.get("replacement", REPLACEMENT))
        self._text = as_text(parameters.get("text"))
        shapes = [Shape(f"match of {pattern}", pattern) for pattern in texts(parameters.get("patterns"))]
        self._normalises = parameters.get("normalise") is True
        ignore_case = parameters.get("ignore_case") is True
        self._finder = Finder(shapes, self.look_back, "patterns", ignore_case=ignore_case)
        if self._normalises:
            folded = [shape._replace(pattern=with_folded(shape.pattern, "patterns")) for shape in shapes]
            self._folded_finder = Finder(folded, self.look_back, "patterns", ignore_case=ignore_case)

    def _found(self, tail: Tail) -> tuple[list[Found], int]:
        """What is found, and how far the text may be sent, as positions in the original text."""
        if not self._normalises:
            return self._finder.find(tail)
        if tail.text.isascii():
            return self._folded_finder.find(tail)
        return together(self._finder.find(tail), self._found_folded(tail))

    def _found_folded(self, tail: Tail) -> tuple[list[Found], int]:
        text, places = folded_with_places(tail.text)
        found, safe = self._folded_finder.find(Tail(text, bisect_left(places, tail.begin), tail.is_whole))
        # A match includes the invisible characters that follow its last character.
        told = [Found(places[each.start], places[each.end], each.label) for each in found]
        return told, max(tail.begin, places[safe])

    def watches(self, block: StreamBlock) -> bool:
        return block.kind in self._in

    def found_beside(self, text: str, is_word: bool) -> str:
        # A pattern for words would match by chance in random ids and in names of models.
        if is_word or "content" not in self._in:
            return ""
        found, _ = self._found(Tail(text, 0, True))
        return found[0].label if found else ""

    def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
        found, safe = self._found(tail)
        if not found:
            return Reading(safe)
        if self._halts:
            first = found[0]
            evidence = {"label": first.label, "length": first.end - first.start}
            verdict = Verdict(Decision.HALT, f"Found a {first.label}.", self._text, evidence)
            return Reading(first.start, verdict=verdict)
        return Reading(safe, tuple(Edit(each.start, each.end, self._replacement, each.label) for each in found))
