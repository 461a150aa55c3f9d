"""A stream's open questions: which are new, which are no longer needed, and which the client waits for."""

from collections.abc import Iterator
from itertools import takewhile

from streamviz.core.judgements import ChainContext
from streamviz.exchange.commands import Ask, Forget


class Questions:
    """The questions of one stream that are being `asked`, by number. There may be thousands; only new ones are looked
    at."""

    def __init__(self, context: ChainContext) -> None:
        self._context = context
        self.asked: set[int] = set()
        self._awaited: set[int] = set()
        self._newest = 0

    @property
    def are_awaited(self) -> bool:
        """Whether the client waits for an answer; it does not wait for those that only policies in shadow want."""
        return bool(self._awaited) and not self._context.is_terminated

    def changes(self) -> Iterator[Ask | Forget]:
        """The questions to ask, and those to drop, since the last time."""
        questions = self._context.questions
        new = list(takewhile(lambda number: number > self._newest, reversed(questions)))
        for number in reversed(new):
            self._newest = number
            self.asked.add(number)
            if questions[number].is_awaited:
                self._awaited.add(number)
            yield Ask(questions[number])
        if len(self.asked) > len(questions):
            for number in self.asked - questions.keys():
                self.take(number)
                yield Forget(number)

    def take(self, number: int) -> bool:
        """Note that a question is answered or no longer asked. Return False if it was not open."""
        if number not in self.asked:
            return False
        self.asked.remove(number)
        self._awaited.discard(number)
        return True

    def keep_shadows(self) -> None:
        """Drop all questions but those of policies in shadow: the client has all that it gets."""
        questions = self._context.questions
        for number in [number for number, question in questions.items() if question.is_awaited]:
            del questions[number]
