"""What a model name can request from the simulator."""

import msgspec


class Asked(msgspec.Struct, frozen=True):
    """A scenario and how to play it; what the name does not specify is None."""

    scenario: str
    seed: int | None = None
    speed: float | None = None
    """How many times faster than a real provider; infinite for no delays at all."""
    chunks: int | None = None
    """How many pieces of content text."""
    pace: float | None = None
    """Milliseconds between pieces, exact whatever the speed."""
    seconds: float | None = None
    """How long the scenario's pause lasts, exact whatever the speed."""
    score: float | None = None
    """What `judge` says."""
    steps: int | None = None
    """How many steps the plan of `reasoner` has."""


class AskedReplay(msgspec.Struct, frozen=True):
    """A recorded stream and how to send it."""

    recording: str
    """`<format>/<slug>`"""
    pieces: int | None = None
    """Send in pieces of this many bytes."""
    pace: float = 0.0
    """Milliseconds between events, or between pieces if `pieces` is set."""
