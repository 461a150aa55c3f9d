"""A running simulator as upstream, and an environment without any provider's credential."""

import os
import re
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


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without providers' variables."""
    for name in os.environ:
        if re.search(r"(API_KEY|API_BASE|BASE_URL|TOKEN)$", name):
            monkeypatch.delenv(name)
    return monkeypatch
