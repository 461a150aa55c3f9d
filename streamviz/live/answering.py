"""How a page of this process gets policies' questions answered: the same way as for its streams."""

from collections.abc import Awaitable, Callable

from streamviz.core.judgements import Answer, Question
from streamviz.core.rerun import nobody

# Set by the worker when it starts; no other process runs streams.
answer: Callable[[Question], Awaitable[Answer]] = nobody
