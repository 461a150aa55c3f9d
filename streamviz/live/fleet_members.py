"""What a process, and a machine, tells the others of itself."""

import msgspec

SERVER, SCREENS = "server", "screens"
_LATE_SECONDS = 1.0


class Writer(msgspec.Struct, frozen=True):
    """What moves a machine's journals into Postgres. `began_at` is in µs since the epoch, 0 where it is not known."""

    pid: int
    version: str
    began_at: int


class Journal(msgspec.Struct, frozen=True):
    """What waits for Postgres on a machine (bytes), for how long the writer has not had everything read (s, None where
    there never was one), the writer where one runs, and what is wrong, as clauses."""

    size: int
    lag: float | None
    writer: Writer | None
    troubles: list[str]


class Member(msgspec.Struct, frozen=True):
    """A process: a server, or the screens of one. `machine` tells machines apart, `host` is what it is called.

    `began_at` is in µs since the epoch, `loop_lag` is how late its event loop came to its work last (s). `streams` run
    there, `watchers` are browsers' websockets. `servers` is how many its machine is to have on this port. `troubles`
    are clauses; where `is_ready` is false it gets no new requests. One that is no longer heard has been `silent` for so
    long (s).
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
