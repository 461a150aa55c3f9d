"""How many files and connections may be open: as many as this user may have, with a reserve."""

import os
import resource
from collections.abc import Iterator

import pytest

from streamviz import descriptors
from streamviz.descriptors import Descriptors, raise_limit


@pytest.fixture(autouse=True)
def limits() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_limit_is_raised_as_far_as_it_may_be(limits: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, limits[1]))
    raise_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (limits[1], limits[1])


def test_streams_begin_while_more_than_the_reserve_is_left(limits: tuple[int, int]) -> None:
    in_use = len(os.listdir("/dev/fd"))
    limit = in_use + descriptors.RESERVE + 10
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limit, 4 * descriptors.RESERVE), limits[1]))
    assert Descriptors().why_few() == ""
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use, limits[1]))
    assert Descriptors().why_few() == "too many files and connections are open"


def test_what_began_since_they_were_counted_is_reckoned_with(
    limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptors, "_COUNT_SECONDS", 3600.0)
    monkeypatch.setattr(descriptors, "RESERVE", 0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 10, limits[1]))
    asked = Descriptors()
    assert [asked.why_few() == "" for _ in range(6)] == [True] * 5 + [False]
    asked.count()
    assert [asked.why_few() == "" for _ in range(6)] == [True] * 5 + [False]


def test_none_may_be_left_to_count_them_with(limits: tuple[int, int]) -> None:
    asked = Descriptors()
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    asked.count()
    assert asked.why_few() == "too many files and connections are open"


def test_none_is_refused_because_nobody_has_counted_for_long(
    limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptors, "_COUNT_SECONDS", 0.0)
    monkeypatch.setattr(descriptors, "RESERVE", 0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 10, limits[1]))
    asked = Descriptors()
    assert {asked.why_few() for _ in range(20)} == {""}
