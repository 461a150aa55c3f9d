"""A stream's open questions: which are new, which are no longer needed, and which the client waits for."""

from collections.abc import Iterator
from itertools import takewhile

from streamviz.core.judgements import ChainContext
from streamviz.exchange.commands import Ask, Forget


class Questions:
    """The questions of one stream that are being `asked`, by number; of thousands only what is new is looked at."""

    def __init__(self, context: ChainContext) -> None:
        self._context = context
        self.asked: set[int] = set()
        self._awaited: set[int] = set()
        self._newest = 0

    @property
    def are_awaited(self) -> bool:
        """Whether the client waits for an answer; it does not for one that only a shadow wants."""
        return bool(self._awaited) and not self._context.is_terminated

    def changes(self) -> Iterator[Ask | Forget]:
        """What is to be asked since the last time, and what no more."""
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
        """An answer is there, or not wanted any more; False where the question is not open."""
        if number not in self.asked:
            return False
        self.asked.remove(number)
        self._awaited.discard(number)
        return True

    def keep_shadows(self) -> None:
        """The client has all that it gets: only what shadows want to know is still asked."""
        questions = self._context.questions
        for number in [number for number, question in questions.items() if question.is_awaited]:
            del questions[number]
