"""The System page's rows of machines and their processes."""

from collections.abc import Iterable
from typing import NamedTuple

from streamviz.live.fleet import Machine
from streamviz.live.fleet_members import SCREENS, Journal, Member

READY, DEGRADED, NOT_READY = "ready", "degraded", "not ready"
# What to call a process for people who do not know our name for it.
_CALLED = {SCREENS: "websockets"}


class ProcessRow(NamedTuple):
    """A process; `age` and `lag` are in µs. What it does not have is None."""

    name: str
    pid: int
    state: str
    version: str
    age: int | None
    streams: int | None = None
    watchers: int | None = None
    lag: int | None = None


class MachineRow(NamedTuple):
    """A machine; `writer_lag` is in µs. The one that `is_here` serves the page."""

    id: str
    host: str
    journal: Journal | None
    writer_lag: int | None
    troubles: list[str]
    processes: list[ProcessRow]
    is_here: bool


def machine_rows(machines: Iterable[Machine], here: str, now: int) -> list[MachineRow]:
    """`now` is in µs since the epoch. For the machine that is `here`, the page itself shows the journal's troubles."""
    return [_machine_row(machine, machine.id == here, now) for machine in machines]


def _machine_row(machine: Machine, is_here: bool, now: int) -> MachineRow:
    journal = machine.journal
    of_journal = journal.troubles if journal else []
    lag = None if journal is None or journal.lag is None else round(journal.lag * 1_000_000)
    rows = [_process_row(member, now) for member in machine.members]
    if journal is not None and (writer := journal.writer) is not None:
        state = DEGRADED if of_journal else READY
        rows.append(ProcessRow("writer", writer.pid, state, writer.version, _age(writer.began_at, now)))
    troubles = [trouble for trouble in machine.troubles if not (is_here and trouble in of_journal)]
    return MachineRow(machine.id, machine.host, journal, lag, troubles, rows, is_here)


def _process_row(member: Member, now: int) -> ProcessRow:
    state = NOT_READY if not member.is_ready else DEGRADED if member.troubles else READY
    told = (member.streams, member.watchers, round(member.loop_lag * 1_000_000))
    name = _CALLED.get(member.process, member.process)
    return ProcessRow(name, member.pid, state, member.version, _age(member.began_at, now), *told)


def _age(began_at: int, now: int) -> int | None:
    return max(0, now - began_at) if began_at else None
