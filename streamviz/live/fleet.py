"""All processes of all machines, as each tells of itself: for the System page and /healthz?verbose."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

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


class Machine(NamedTuple):
    """The processes of a machine, its journal where a server told of that, and all that is wrong there."""

    id: str
    host: str
    members: list[Member]
    journal: Journal | None
    troubles: list[str]


def late(loop_lag: float) -> list[str]:
    """What is wrong with an event loop, if anything is."""
    return [f"its event loop was late by {loop_lag:.1f} s"] if loop_lag >= _LATE_SECONDS else []


def machines_of(members: Iterable[Member]) -> list[Machine]:
    """By their names, each with its processes in the order in which they began. Those that are silent stand there while
    there is none in their place."""
    found: defaultdict[str, list[Member]] = defaultdict(list)
    for member in sorted(members, key=lambda each: (each.process != SERVER, each.began_at)):
        found[member.machine].append(member)
    machines = [_machine(id, those) for id, those in found.items() if any(not each.silent for each in those)]
    return sorted(machines, key=lambda machine: (machine.host, machine.id))


def lacking(machines: Iterable[Machine]) -> list[str]:
    """How many servers respond, of each machine that is to have more."""
    return [said for machine in machines for said in _lacking(machine.members)]


def versions_of(machines: Iterable[Machine]) -> list[str]:
    """All that run, writers' too: more than one while an upgrade is under way."""
    found: set[str] = set()
    for machine in machines:
        found |= {member.version for member in machine.members}
        if machine.journal is not None and machine.journal.writer is not None:
            found.add(machine.journal.writer.version)
    return sorted(found - {""})


def responding(members: Iterable[Member]) -> list[Member]:
    """The servers that are heard."""
    return [member for member in members if member.process == SERVER and not member.silent]


def _lacking(members: Iterable[Member]) -> list[str]:
    servers = responding(members)
    wanted = max((member.servers for member in servers), default=0)
    return [f"{len(servers)} of {wanted} servers respond"] if len(servers) < wanted else []


def _machine(id: str, members: list[Member]) -> Machine:
    missing = _lacking(members)
    if not missing:
        members = [member for member in members if not member.silent]
    servers = responding(members)
    journal = next((member.journal for member in servers if member.journal), None)
    of_processes = [f"{member.process} {member.pid}: {trouble}" for member in members for trouble in member.troubles]
    of_journal = journal.troubles if journal else []
    return Machine(id, members[0].host, members, journal, [*missing, *of_journal, *of_processes])
