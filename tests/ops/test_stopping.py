"""A signal may arrive at any moment in the main thread."""

import os
import signal
from collections.abc import Iterator

import pytest

from streamviz.ops.stopping import stopped_by


@pytest.fixture
def handlers_as_they_were() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("handlers_as_they_were")
def test_a_signal_may_come_while_the_event_is_waited_for() -> None:
    stop = stopped_by(signal.SIGUSR1)
    with stop._cond:  # type: ignore[attr-defined] # as `wait` does before it sleeps, and after
        os.kill(os.getpid(), signal.SIGUSR1)
        assert not stop.is_set()
    assert stop.wait(60)
