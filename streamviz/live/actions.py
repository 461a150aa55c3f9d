"""What people do to running streams."""

import uuid

from streamviz.core.judgements import Question
from streamviz.core.verdicts import Decision
from streamviz.exchange.stream import LiveStream
from streamviz.live.approvals import approvals
from streamviz.live.feed import Feed

DECISIONS = {Decision.ALLOW, Decision.DENY}


def decide(
    feed: Feed, stream_id: uuid.UUID, ordinal: int, decision: Decision, by: str, *, for_session: bool = False
) -> bool:
    """Allow or deny a block that is held for a person; False where nobody is asked about it (any more). Allowed
    `for_session` is whatever else the same version of the policy would deny in this session, now and later."""
    stream = feed.running.get(stream_id)
    if stream is None or stream.decide is None:
        return False
    if for_session and decision is Decision.ALLOW:
        return _allow_session(feed, stream, ordinal, by)
    return stream.decide(ordinal, decision, by)


def _allow_session(feed: Feed, stream: LiveStream, ordinal: int, by: str) -> bool:
    asked = _question(stream, ordinal)
    if asked is None or stream.decide is None:
        return False
    version_id, by = asked.policy.version_id, f"{by} (for the session)"
    is_done = approve(feed, stream.session_id, version_id, by)
    approvals.tell_others(stream.session_id, version_id, by)
    return is_done


def approve(feed: Feed, session_id: uuid.UUID, version_id: int, by: str) -> bool:
    """`by` allows, at this worker, what this version of a policy would deny in a session, now and later; whether
    anybody was asked about any of it."""
    approvals.give(session_id, version_id, by)
    is_done = False
    for each in [each for each in feed.running.values() if each.session_id == session_id]:
        for other in list(each.context.holds):
            asked = _question(each, other)
            if asked is not None and asked.policy.version_id == version_id and each.decide is not None:
                is_done |= each.decide(other, Decision.ALLOW, by)
    return is_done


def _question(stream: LiveStream, ordinal: int) -> Question | None:
    """What a person is asked about a block."""
    hold = stream.context.holds.get(ordinal)
    return None if hold is None or hold.asks is None else stream.context.questions.get(hold.asks)


def cancel(feed: Feed, stream_id: uuid.UUID, by: str) -> bool:
    """Stop a stream; False where it is over."""
    stream = feed.running.get(stream_id)
    if stream is None or stream.cancel is None:
        return False
    return stream.cancel(by)
