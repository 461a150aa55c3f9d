"""A running simulator, as upstream."""

from collections.abc import Iterator

import pytest

from tests.simulator.process import Simulator, running_simulator


@pytest.fixture(scope="session")
def simulator_port() -> Iterator[int]:
    with running_simulator("--speed", "inf") as port:
        yield port


@pytest.fixture
def simulator(simulator_port: int) -> Iterator[Simulator]:
    """A simulator without delays."""
    with Simulator(simulator_port) as started:
        yield started
