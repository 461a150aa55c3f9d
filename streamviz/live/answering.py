"""How a page of this process gets policies' questions answered: the same way as for its streams."""

from collections.abc import Awaitable, Callable

from streamviz.core.judgements import Answer, Question, Unanswered


async def nobody(question: Question) -> Answer:
    """The answer in a process that runs no streams."""
    return Unanswered("nobody was asked")


# Set by the worker when it starts.
answer: Callable[[Question], Awaitable[Answer]] = nobody
