"""The arithmetic of docs/scale.md."""

from dataclasses import replace

import pytest

from bench.scale import BUSY, Bearable, Costs, Fleet, Load, amount, postgres_needed, table, totals, uses

COSTS, LOAD, FLEET, BEARABLE = Costs(), Load(), Fleet(), Bearable()


def shares(load: Load = LOAD, fleet: Fleet = FLEET) -> dict[str, float]:
    return {use.name: use.share for use in uses(COSTS, load, fleet, BEARABLE)}


def test_the_fullest_comes_first() -> None:
    found = [use.share for use in uses(COSTS, LOAD, FLEET, BEARABLE)]
    assert found == sorted(found, reverse=True)


def test_a_stream_costs_its_chunks() -> None:
    one = Load(requests=1, chunks=1, watched=0)
    cpu = next(use for use in uses(COSTS, one, Fleet(machines=1, cores=2), BEARABLE) if use.name == "servers' CPU")
    assert cpu.used == pytest.approx(COSTS.chunk_server_us / 1e6)
    assert cpu.bears == pytest.approx(BUSY)


@pytest.mark.parametrize("name", ["servers' CPU", "writers' CPU", "journal's disk", "network"])
def test_twice_the_machines_halve_what_machines_share(name: str) -> None:
    assert shares(fleet=replace(FLEET, machines=200))[name] == pytest.approx(shares()[name] / 2)


@pytest.mark.parametrize("name", ["Postgres' CPU", "Postgres' WAL", "Postgres' disk"])
def test_machines_do_not_help_postgres_and_fewer_requests_do(name: str) -> None:
    assert shares(fleet=replace(FLEET, machines=200))[name] == shares()[name]
    assert shares(replace(LOAD, requests=LOAD.requests / 2))[name] == pytest.approx(shares()[name] / 2)


def test_redis_carries_more_the_more_processes_there_are_and_no_more_for_more_requests() -> None:
    assert shares(fleet=replace(FLEET, machines=200))["Redis"] > 3 * shares()["Redis"]
    assert shares(replace(LOAD, requests=2 * LOAD.requests))["Redis"] == shares()["Redis"]


def test_days_that_chunks_stay_fill_the_disk_and_the_archive_does_not() -> None:
    assert shares(fleet=replace(FLEET, chunk_days=14))["Postgres' disk"] > shares()["Postgres' disk"]
    sums = totals(COSTS, LOAD, FLEET)
    assert sums.streams_a_day == 864_000_000
    assert sums.archived_a_day == pytest.approx(864_000_000 * COSTS.stream_archived)


def test_so_many_nodes_as_the_fullest_of_postgres_needs() -> None:
    found = uses(COSTS, LOAD, FLEET, BEARABLE)
    assert postgres_needed(found) == max(use.needed for use in found if "Postgres" in use.name)
    assert postgres_needed(uses(COSTS, replace(LOAD, requests=1), FLEET, BEARABLE)) == 1


def test_what_a_fleet_needs_is_told_in_words() -> None:
    told = table(uses(COSTS, LOAD, FLEET, BEARABLE))
    assert len(told.splitlines()) == 10
    assert amount(2_500_000_000, "B/s") == "2.5 GB/s"
    assert amount(12, "cores") == "12 cores"
