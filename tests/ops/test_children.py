"""The processes that the supervisor starts."""

import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from streamviz.faults import Fault
from streamviz.ops.children import Child


@pytest.fixture
def no_threads() -> Iterator[None]:
    """Make starting a thread fail, with a stack larger than any memory."""
    before = threading.stack_size(1 << 60)
    yield
    threading.stack_size(before)


@pytest.mark.integration
@pytest.mark.usefixtures("no_threads")
def test_a_child_that_no_thread_can_watch_over_is_ended_and_is_a_fault(tmp_path: Path) -> None:
    others = set(psutil.Process().children())
    child = Child("hub", ["streamviz.live.hub", str(tmp_path / "hub")], lambda: True, {})
    with pytest.raises(Fault, match="watch over the hub: can't start new thread"):
        child.start(lambda _: None)
    assert set(psutil.Process().children()) <= others
