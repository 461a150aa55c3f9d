"""Simulators as separate processes, as a demo starts them."""

from collections.abc import Iterator

import pytest

from streamviz.simulator.endpoints import ENDPOINTS, Endpoint
from tests.recordings import RECORDINGS
from tests.simulator.process import Simulator, running_simulator


@pytest.fixture(scope="session")
def fast_port() -> Iterator[int]:
    """The port of a simulator without delays that can replay the recorded streams."""
    with running_simulator("--speed", "inf", "--replay-dir", str(RECORDINGS)) as port:
        yield port


@pytest.fixture(scope="session")
def plain_port() -> Iterator[int]:
    """The port of a simulator at the speed of a real provider, with nothing to replay."""
    with running_simulator() as port:
        yield port


@pytest.fixture
def simulator(fast_port: int) -> Iterator[Simulator]:
    """A simulator without delays that can replay the recorded streams."""
    with Simulator(fast_port) as started:
        yield started


@pytest.fixture
def plain_simulator(plain_port: int) -> Iterator[Simulator]:
    """A simulator at the speed of a real provider, with nothing to replay."""
    with Simulator(plain_port) as started:
        yield started


@pytest.fixture(params=ENDPOINTS, ids=[endpoint.wire_format for endpoint in ENDPOINTS])
def endpoint(request: pytest.FixtureRequest) -> Endpoint:
    """Each endpoint in turn."""
    return request.param


@pytest.fixture
def wire_format(endpoint: Endpoint) -> str:
    """Each wire format in turn."""
    return endpoint.wire_format
