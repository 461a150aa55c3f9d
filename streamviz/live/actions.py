"""What people do to running streams: allow, deny, cancel."""

import uuid

from streamviz.core.verdicts import Decision
from streamviz.exchange.stream import LiveStream
from streamviz.live.approvals import approvals, words_for
from streamviz.live.feed import Feed

DECISIONS = {Decision.ALLOW, Decision.DENY}


def decide(
    feed: Feed, stream_id: uuid.UUID, asks: int, decision: Decision, by: str, *, for_session: bool = False
) -> bool:
    """Allow or deny a block that is held for a person. `asks` is the number of the question that this person saw, as
    there may be another one about the block since. Returns False if that question is not, or no longer, open. Allowing
    it `for_session` allows whatever else this version of the policy would deny in the session, now and later."""
    stream = feed.running.get(stream_id)
    if stream is None or stream.decide is None:
        return False
    if for_session and decision is Decision.ALLOW:
        return _allow_session(feed, stream, asks, by)
    return stream.decide(asks, decision, by)


def _allow_session(feed: Feed, stream: LiveStream, asks: int, by: str) -> bool:
    asked = stream.context.questions.get(asks)
    if asked is None or not asked.is_for_a_person:
        return False
    version_id = asked.policy.version_id
    is_done = approve(feed, stream.session_id, version_id, by)
    approvals.tell_others(stream.session_id, version_id, by)
    return is_done


def approve(feed: Feed, session_id: uuid.UUID, version_id: int, by: str) -> bool:
    """Allow, at this worker, what this version of a policy would deny in a session, now and later. Returns whether that
    answered any open question."""
    approvals.give(session_id, version_id, by)
    is_done = False
    for each in [each for each in feed.running.values() if each.session_id == session_id]:
        for asked in list(each.context.questions.values()):
            if asked.is_for_a_person and asked.policy.version_id == version_id and each.decide is not None:
                is_done |= each.decide(asked.number, Decision.ALLOW, words_for(by))
    return is_done


def cancel(feed: Feed, stream_id: uuid.UUID, by: str) -> bool:
    """Cancel a stream; return False if it is over."""
    stream = feed.running.get(stream_id)
    if stream is None or stream.cancel is None:
        return False
    return stream.cancel(by)
