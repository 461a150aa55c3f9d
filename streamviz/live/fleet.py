"""All processes of all machines, as each reports itself: for the System page and /healthz?verbose."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from streamviz.live.fleet_members import SERVER, Journal, Member


class Machine(NamedTuple):
    """A machine's processes, its journal if a server has reported it, and everything that is wrong there."""

    id: str
    host: str
    members: list[Member]
    journal: Journal | None
    troubles: list[str]


def machines_of(members: Iterable[Member]) -> list[Machine]:
    """Group processes by machine, sorted by the machine's name; on each, by kind (servers first) and by start. Silent
    ones are listed until others have taken their place; a machine that has only those is left out."""
    found: defaultdict[str, list[Member]] = defaultdict(list)
    for member in sorted(members, key=lambda each: (each.process != SERVER, each.began_at)):
        found[member.machine].append(member)
    machines = [_machine(id, those) for id, those in found.items() if any(not each.silent for each in those)]
    return sorted(machines, key=lambda machine: (machine.host, machine.id))


def lacking(machines: Iterable[Machine]) -> list[str]:
    """For each machine with fewer servers than it should have, how many respond."""
    return [said for machine in machines for said in _lacking(machine.members)]


def versions_of(machines: Iterable[Machine]) -> list[str]:
    """All versions that run, including writers': more than one while an upgrade is under way."""
    found: set[str] = set()
    for machine in machines:
        found |= {member.version for member in machine.members}
        if machine.journal is not None and machine.journal.writer is not None:
            found.add(machine.journal.writer.version)
    return sorted(found - {""})


def responding(members: Iterable[Member]) -> list[Member]:
    """The servers that are not silent."""
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
