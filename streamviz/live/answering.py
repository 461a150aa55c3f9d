"""How a page of this process has policies' questions answered, as those of its streams are."""

from collections.abc import Awaitable, Callable

from streamviz.core.judgements import Answer, Question, Unanswered


async def nobody(question: Question) -> Answer:
    """The answer in a process that runs no streams."""
    return Unanswered("nobody was asked")


# Set by the worker once it runs.
answer: Callable[[Question], Awaitable[Answer]] = nobody
