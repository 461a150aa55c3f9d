"""What a worker asks the others: to show a stream that one of them runs, to do there what a person did here, and which
requests they refused."""

import asyncio
import itertools
import uuid
from collections.abc import Callable

from streamviz.core.verdicts import Decision
from streamviz.live import messages, peer_channel
from streamviz.live.peer_refusals import PeerRefusals


class PeerQuestions:
    """Questions go out over `channel`. `is_away` says whether the others cannot be reached: then nobody waits."""

    def __init__(self, channel: peer_channel.PeerChannel, is_away: Callable[[], bool]) -> None:
        self.refusals = PeerRefusals(channel)
        self._channel = channel
        self._is_away = is_away
        self._asked: dict[int, asyncio.Future[messages.Acted | messages.Found]] = {}
        self._numbers = itertools.count(1)

    async def look_for(self, stream_id: uuid.UUID) -> messages.Found | None:
        """A stream that another worker runs, or ran until just now; None if none answers that it does."""
        answer = await self._ask(lambda number: messages.LookedFor(self._channel.name, number, stream_id))
        return answer if isinstance(answer, messages.Found) else None

    async def decide(
        self, stream_id: uuid.UUID, asks: int, decision: Decision, by: str, *, for_session: bool = False
    ) -> bool | None:
        """Like `actions.decide`, at whichever worker runs the stream; None if none answers."""
        return await self._act_there(
            lambda number: messages.Decided(self._channel.name, number, stream_id, asks, decision, by, for_session)
        )

    async def cancel(self, stream_id: uuid.UUID, by: str) -> bool | None:
        """Like `actions.cancel`, at whichever worker runs the stream; None if none answers."""
        return await self._act_there(lambda number: messages.Cancelled(self._channel.name, number, stream_id, by))

    def take(self, answer: messages.Acted | messages.Found | messages.RefusalsTold) -> None:
        """Take another worker's answer."""
        if isinstance(answer, messages.RefusalsTold):
            self.refusals.take(answer)
        elif (asked := self._asked.get(answer.question)) and not asked.done():
            asked.set_result(answer)

    async def _act_there(self, message: Callable[[int], messages.AnyMessage]) -> bool | None:
        answer = await self._ask(message)
        return answer.is_done if isinstance(answer, messages.Acted) else None

    async def _ask(self, message: Callable[[int], messages.AnyMessage]) -> messages.Acted | messages.Found | None:
        """The first answer; None if there is none in time, and at once if the others cannot be reached."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            if not self._is_away():
                await self._channel.publish(message(number))
            async with asyncio.timeout(0 if self._is_away() else peer_channel.ANSWER_SECONDS):
                return await answer
        except TimeoutError:
            return None
        finally:
            del self._asked[number]
