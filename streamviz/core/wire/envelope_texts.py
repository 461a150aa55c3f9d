"""The texts of an envelope: which of them are new, and whether its names and counts are what they should be.

Names and counts have to be a word or a number, or upstream contradicts itself; policies for texts read the rest, each
text once, but no words of the format (`vocabulary.py`).
"""

import re
from collections.abc import Collection
from itertools import chain

from streamviz.core.blocks import Told
from streamviz.core.json_value import JsonObject, levels
from streamviz.core.wire import beside
from streamviz.core.wire.beside import LARGE, is_small, member_names
from streamviz.core.wire.joined_texts import OPAQUE
from streamviz.core.wire.vocabulary import VOCABULARY

# Names and counts, which are never text, whatever they contain.
_NAMED = member_names(
    "id object type role status model provider created created_at completed_at finish_reason native_finish_reason"
    " stop_reason system_fingerprint service_tier usage incomplete_details container item_id call_id tool_use_id"
    " previous_response_id reasoning usageMetadata finishReason modelVersion responseId createTime"
)
_NAME = re.compile(r"[!#-z|~]{0,1000}|[\d :.,TZ+-]{0,40}")
# A provider's name may have several words; a model's is what its operator calls it: one line, the same throughout a
# stream.
_TITLE = re.compile(r"(?=.{0,64}$)[\w.:/@()&+-]+(?: [\w.:/@()&+-]+){0,4}")
_LINE = re.compile(r"[^\x00-\x1f\x7f\x85\u2028\u2029]{1,200}")
_FORMS = {
    "provider": _TITLE,
    **dict.fromkeys(("model", "modelVersion"), _LINE),
    **dict.fromkeys(beside.REASONS, beside.REASON),
}
_FEW = 20
# A limit on what is remembered of a stream's texts (characters, plus 100 for each text).
_ROOM = 500_000


class EnvelopeTexts:
    """Takes in members of an envelope. `is_odd` is set once any name or count in it is neither a word nor a number."""

    def __init__(self) -> None:
        self._words: set[str] = set()
        self._texts: set[str] = set()
        self._room = _ROOM
        self._new: list[Told] = []
        self._model = ""
        self.is_odd = False

    def take(self) -> list[Told]:
        """The texts that the last chunk said for the first time."""
        new, self._new = self._new, []
        return new

    def take_one(self, text: str) -> list[Told]:
        """The same if `text` is the only one that can be new."""
        self._tell_one(text, None)
        return self.take()

    def _members(self, members: JsonObject, but: frozenset[str]) -> None:
        words = self._words
        for name, value in members.items():
            if name in but:
                continue
            if name in words or name in VOCABULARY:
                if isinstance(value, str):
                    if value in words or value in VOCABULARY:
                        continue  # the case in nearly every chunk
                elif is_small(value):
                    continue
            self._member(name, value)

    def _member(self, name: str, value: object) -> None:
        if name not in self._words:
            self._tell_one(name, None)
        form = None
        if name in _NAMED:
            form = _FORMS.get(name, _NAME) if isinstance(value, str) else _NAME
        if isinstance(value, str):
            self._tell_one(value, form)
        elif value and not is_small(value):
            self._tell_all_of(value, form)

    def _tell_all_of(self, value: object, form: re.Pattern[str] | None) -> None:
        if isinstance(value, dict) and len(value) <= _FEW and all(map(is_small, value.values())):
            self._tell(value, form)  # counts, as usage often is, or settings that are not set
            return
        for level in levels(value, OPAQUE):
            self._tell(dict.fromkeys((*level.texts, *chain.from_iterable(level.objects))), form)
            numbers = level.numbers
            if numbers and not -LARGE < min(numbers) <= max(numbers) < LARGE:
                large = (number for number in numbers if not -LARGE < number < LARGE)
                self._tell(dict.fromkeys(str(abs(int(number))) for number in large), None)

    def _tell_one(self, text: str, form: re.Pattern[str] | None) -> None:
        if text not in self._words and text not in VOCABULARY:
            self._take(text, beside.is_word(text), form)

    def _tell(self, texts: Collection[str], form: re.Pattern[str] | None) -> None:
        """Take in distinct texts, of which there may be very many."""
        if self._words.issuperset(texts):
            return
        new = [text for text in texts if text not in self._words and text not in VOCABULARY]
        words = beside.words_among(new)
        for text in new:
            self._take(text, text in words, form)

    def _take(self, text: str, is_word: bool, form: re.Pattern[str] | None) -> None:
        """Take in a text that is not one of the known words."""
        if form is not None and not (is_word or self.is_odd or _NAME.fullmatch(text)):
            self.is_odd = form.fullmatch(text) is None or (form is _LINE and not self._names_the_model(text))
        if text in self._texts:
            return
        self._new.append(Told(text, is_word))
        self._room -= len(text) + 100
        if self._room > 0:
            (self._words if is_word else self._texts).add(text)

    def _names_the_model(self, line: str) -> bool:
        """Whether a line is a few words, or the only name in this stream that is more than that."""
        if _TITLE.fullmatch(line):
            return True
        self._model = self._model or line
        return line == self._model

    def _show(self, value: object) -> None:
        """Take in what clients may show: a single word there is a text."""
        for level in levels(value, OPAQUE):
            for text in level.texts:
                if text not in VOCABULARY:
                    self._take(text, False, None)
