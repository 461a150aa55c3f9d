"""What processes report about themselves, put together."""

from typing import Any

from streamviz.live.fleet import lacking, machines_of, versions_of
from streamviz.live.fleet_members import Journal, Member, Writer, late


def member(pid: int, machine: str = "a", process: str = "server", **changes: Any) -> Member:
    """A healthy process."""
    usual: dict[str, Any] = {
        "process": process,
        "machine": machine,
        "host": f"host-{machine}",
        "pid": pid,
        "version": "1",
        "began_at": pid,
        "streams": 0,
        "watchers": 0,
        "loop_lag": 0.0,
        "is_ready": True,
        "troubles": [],
    }
    return Member(**usual | changes)


def test_processes_stand_at_their_machines_in_order() -> None:
    told = [member(3, "b"), member(9), member(1, process="screens"), member(2, servers=2)]
    here, there = machines_of(told)
    assert (here.host, there.host) == ("host-a", "host-b")
    assert [each.pid for each in here.members] == [2, 9, 1]
    assert (here.troubles, there.troubles) == ([], [])


def test_the_troubles_of_a_machines_processes_are_told() -> None:
    journal = Journal(10, 5.0, Writer(7, "2", 0), ["it has waited"])
    told = [member(2, servers=3, journal=journal, troubles=["streamviz is stopping", *late(1.25)], is_ready=False)]
    [machine] = machines_of(told)
    assert machine.troubles == [
        "1 of 3 servers respond",
        "it has waited",
        "server 2: streamviz is stopping",
        "server 2: its event loop ran late by 1.2 s",
    ]
    assert machine.journal == journal
    assert versions_of([machine]) == ["1", "2"]
    assert late(0.2) == []


def test_a_server_that_no_longer_answers_stays_until_another_is_in_its_place() -> None:
    silent = member(3, servers=2, silent=12.0, is_ready=False, troubles=["no answer for 12 s"])
    [machine] = machines_of([member(2, servers=2), silent])
    assert [each.pid for each in machine.members] == [2, 3]
    assert machine.troubles == ["1 of 2 servers respond", "server 3: no answer for 12 s"]
    assert lacking([machine]) == ["1 of 2 servers respond"]
    [machine] = machines_of([member(2, servers=2), member(4, servers=2), silent])
    assert ([each.pid for each in machine.members], lacking([machine])) == ([2, 4], [])
    assert machines_of([silent]) == []
