"""A worker's answers when others ask about the streams that it runs, and the requests that it refused."""

import uuid

from streamviz.live import actions, messages, peer_channel
from streamviz.live.feed import Feed
from streamviz.live.pace import Pace
from streamviz.live.presentation.stream_views import paced_view_of_running, whole_view_of


class PeerAnswers:
    """Answers other workers that ask about the streams of `feed`."""

    def __init__(self, feed: Feed, channel: peer_channel.PeerChannel) -> None:
        self._feed = feed
        self._channel = channel

    async def say_found(self, sender: str, question: int, stream_id: uuid.UUID) -> None:
        """Send a stream to a worker that asks for it, if it runs here or did until just now."""
        if stream := self._feed.get(stream_id):
            view = whole_view_of(stream, await paced_view_of_running(stream, Pace()))
            await self._channel.send(sender, messages.Found(self._channel.name, question, view, stream.request))

    async def act(
        self, message: messages.Decided | messages.Cancelled | messages.SessionApproved | messages.RefusalsWanted
    ) -> None:
        """Do what a person did at another worker, if the stream runs here or did until just now; report the result.
        If another worker asks for the requests that were refused here, send them."""
        if isinstance(message, messages.RefusalsWanted):
            refusals = messages.RefusalsTold(self._channel.name, self._feed.refusals.all())
            await self._channel.send(message.sender, refusals)
            return
        if isinstance(message, messages.SessionApproved):
            actions.approve(self._feed, message.session_id, message.version_id, message.by)
            return
        stream_id = message.stream_id
        if self._feed.get(stream_id) is None:
            return
        if isinstance(message, messages.Cancelled):
            is_done = actions.cancel(self._feed, stream_id, message.by)
        else:
            told = message.asks, message.decision, message.by
            is_done = actions.decide(self._feed, stream_id, *told, for_session=message.for_session)
        await self._channel.send(message.sender, messages.Acted(self._channel.name, message.question, is_done))
