"""A client that disconnects with unread data leaves no run behind."""

import asyncio
from types import SimpleNamespace
from typing import Any

from streamviz.executors.call import Asked
from streamviz.executors.reasoning.answer import RunAnswer
from streamviz.executors.reasoning.speaking import Speaker


class Talking:
    """A run that says more than anyone reads."""

    requests = SimpleNamespace(left_out=())

    def __init__(self) -> None:
        self.has_ended = False

    async def carry_out(self, speaker: Speaker) -> None:
        try:
            while True:
                await speaker.event("planning", "I think.")
        finally:
            self.has_ended = True


async def test_a_run_whose_client_leaves_without_reading_ends() -> None:
    run: Any = Talking()
    before = asyncio.all_tasks()
    answer = RunAnswer(Asked("run-1", "openai_chat", "sim/reasoner", {}, is_streaming=True, wants_events=False), run)
    await answer.begin()
    [task] = asyncio.all_tasks() - before
    while not answer._chunks.full():
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    answer.close()
    for _ in range(5):
        await asyncio.sleep(0)
    assert (run.has_ended, task.done()) == (True, True)
