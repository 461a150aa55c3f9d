"""Trying a policy on something: what the client would have got."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from streamviz.bounded import rest, within
from streamviz.core.blocks import StreamState
from streamviz.core.policy import ActivePolicy
from streamviz.core.rerun import Recording, Rerun, rerun, told
from streamviz.dashboard.tryout_results import LONGEST_NAME, Shown, VerdictShown, shown, shown_verdict
from streamviz.live import answering
from streamviz.live.presentation.cutting import clipped

# How many verdicts are shown.
MOST_VERDICTS = 200


class TryOut(NamedTuple):
    """The result: what upstream sent and what the client would have got."""

    verdicts: list[VerdictShown]
    more_verdicts: int
    upstream: Shown
    client: Shown
    finish_reason: str
    denied: bool
    is_untouched: bool
    longest_wait: int


async def try_on(recording: Recording, policies: Sequence[ActivePolicy]) -> TryOut:
    """Run policies over a recording; a judge's model is actually asked."""
    made = await rerun(recording, policies, answering.answer, within, rest)
    wire_format, is_streaming = recording.call.wire_format, recording.is_streaming
    # Frames that were made in many steps are read in one: in a thread, as clients come first.
    reading = partial(told, wire_format, made.frames, is_streaming=is_streaming)
    client = await asyncio.to_thread(reading) if made.frames else StreamState()
    return TryOut(
        [shown_verdict(judgement) for judgement in made.judgements[:MOST_VERDICTS]],
        max(0, len(made.judgements) - MOST_VERDICTS),
        shown(made.state),
        shown(client),
        clipped(client.finish_reason or "", LONGEST_NAME),
        made.denied is not None,
        _is_untouched(made, recording),
        made.longest_wait,
    )


def _is_untouched(made: Rerun, recording: Recording) -> bool:
    sent = b"".join(frame.raw for frame in made.frames)
    return sent == b"".join(chunk.raw for chunk in recording.chunks)
