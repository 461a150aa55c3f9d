"""What workers ask each other about a stream that one of them runs: to be shown it, or to do what a person did."""

import asyncio
import itertools
import uuid
from collections.abc import Callable

from streamviz.core.verdicts import Decision
from streamviz.live import actions, messages, peer_channel
from streamviz.live.feed import Feed
from streamviz.live.presentation.stream_views import view_of_running, whole_view_of


class PeerQuestions:
    """Asked over `channel`. `is_away` says whether the others cannot be reached: nobody waits for them then."""

    def __init__(self, channel: peer_channel.PeerChannel, is_away: Callable[[], bool]) -> None:
        self._channel = channel
        self._is_away = is_away
        self._asked: dict[int, asyncio.Future[messages.Acted | messages.Found]] = {}
        self._numbers = itertools.count(1)

    async def look_for(self, stream_id: uuid.UUID) -> messages.Found | None:
        """A stream that another worker runs, or ran just now; None where nobody answers that it does."""
        answer = await self._ask(lambda number: messages.LookedFor(self._channel.name, number, stream_id))
        return answer if isinstance(answer, messages.Found) else None

    async def decide(
        self, stream_id: uuid.UUID, ordinal: int, decision: Decision, by: str, *, for_session: bool = False
    ) -> bool | None:
        """As `actions.decide`, at whichever worker runs the stream; None where nobody answers."""
        return await self._act_there(
            lambda number: messages.Decided(self._channel.name, number, stream_id, ordinal, decision, by, for_session)
        )

    async def cancel(self, stream_id: uuid.UUID, by: str) -> bool | None:
        """As `actions.cancel`, at whichever worker runs the stream; None where nobody answers."""
        return await self._act_there(lambda number: messages.Cancelled(self._channel.name, number, stream_id, by))

    def take(self, answer: messages.Acted | messages.Found) -> None:
        """Somebody answers."""
        if (asked := self._asked.get(answer.question)) and not asked.done():
            asked.set_result(answer)

    async def _act_there(self, message: Callable[[int], messages.AnyMessage]) -> bool | None:
        answer = await self._ask(message)
        return answer.is_done if isinstance(answer, messages.Acted) else None

    async def _ask(self, message: Callable[[int], messages.AnyMessage]) -> messages.Acted | messages.Found | None:
        """The first answer; None where there is none in time, and at once while the others cannot be reached."""
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


class PeerAnswers:
    """What others are told who ask about the streams of `feed`."""

    def __init__(self, feed: Feed, channel: peer_channel.PeerChannel) -> None:
        self._feed = feed
        self._channel = channel

    async def say_found(self, sender: str, question: int, stream_id: uuid.UUID) -> None:
        """Show it a stream, where that runs here or did just now."""
        if stream := self._feed.get(stream_id):
            view = whole_view_of(stream, view_of_running(stream))
            await self._channel.send(sender, messages.Found(self._channel.name, question, view, stream.request))

    async def act(self, message: messages.Decided | messages.Cancelled | messages.SessionApproved) -> None:
        """Do what a person did there, where the stream runs here, and say what became of it."""
        if isinstance(message, messages.SessionApproved):
            actions.approve(self._feed, message.session_id, message.version_id, message.by)
            return
        stream_id = message.stream_id
        if stream_id not in self._feed.running:
            return
        if isinstance(message, messages.Cancelled):
            is_done = actions.cancel(self._feed, stream_id, message.by)
        else:
            told = message.ordinal, message.decision, message.by
            is_done = actions.decide(self._feed, stream_id, *told, for_session=message.for_session)
        await self._channel.send(message.sender, messages.Acted(self._channel.name, message.question, is_done))
