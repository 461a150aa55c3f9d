"""What a worker looks at once a second."""

import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from streamviz import descriptors
from streamviz.proxy.worker import Worker


@pytest.fixture
def few() -> Iterator[int]:
    """This process may open some 200 files more; the number of those that a stream may use."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = len(os.listdir("/dev/fd")) + 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, before[1]))
    yield 200 - min(descriptors.RESERVE, limit // 4)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_files_that_were_opened_meanwhile_leave_less_for_streams(few: int) -> None:
    worker = Worker()
    assert not worker._why_few()
    with ExitStack() as files:
        for _ in range(few):
            files.enter_context(open(os.devnull))
        worker._look()
        assert "too many files" in worker._why_few()
    worker._look()
    assert not worker._why_few()
