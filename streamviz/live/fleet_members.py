"""What a process, and a machine, reports about itself."""

import msgspec

SERVER, SCREENS = "server", "screens"
_LATE_SECONDS = 1.0


class Writer(msgspec.Struct, frozen=True):
    """The process that moves a machine's journals into Postgres. `began_at` is in µs since the epoch, 0 if unknown."""

    pid: int
    version: str
    began_at: int


class Journal(msgspec.Struct, frozen=True):
    """How much waits for Postgres on a machine (bytes), how long the writer has been behind (s, None if there never was
    one), the writer if one runs, and what is wrong, as clauses."""

    size: int
    lag: float | None
    writer: Writer | None
    troubles: list[str]


class Member(msgspec.Struct, frozen=True):
    """A process: a server, or the screens of one. `machine` identifies the machine, `host` is its name.

    `began_at` is in µs since the epoch; `loop_lag` is how late its event loop last was (s). `streams` run there,
    `watchers` are browsers' websockets. `servers` is how many its machine should have on this port. `troubles` are
    clauses; a process that is not `is_ready` gets no new requests. `silent` is how long it has not been heard (s).
    """

    process: str
    machine: str
    host: str
    pid: int
    version: str
    began_at: int
    streams: int
    watchers: int
    loop_lag: float
    is_ready: bool
    troubles: list[str]
    servers: int = 1
    journal: Journal | None = None
    silent: float = 0.0


def late(loop_lag: float) -> list[str]:
    """What is wrong with an event loop, if anything is."""
    return [f"its event loop ran late by {loop_lag:.1f} s"] if loop_lag >= _LATE_SECONDS else []
