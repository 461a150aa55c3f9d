"""The SDKs for Node leave runs in each phase: no work goes on for them. Those for Python are in tests/e2e."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.conftest import Between
from tests.clients.test_libraries import DRIVERS, SECONDS
from tests.e2e.leaving import PHASES, Leaving, Model, leaving_from
from tests.e2e.test_policies import Guarded


@pytest.fixture(scope="module")
def model(between: Between, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Guarded, Model]]:
    with Guarded(between.proxied.server) as guarded, leaving_from(guarded, tmp_path_factory.mktemp("leaving")) as found:
        yield guarded, found


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
def test_a_client_that_leaves_stops_upstream_and_tools(
    model: tuple[Guarded, Model], programs: Callable[[str], Path], phase: str, dialect: str, stream: bool
) -> None:
    leaving = Leaving(*model)
    leaving.model.hang_in(phase)
    server, found = leaving.guarded.server, programs("node")
    shutil.copy(DRIVERS / "leaving.mjs", found.parents[1])
    told = {"base": server.base_url, "key": server.api_key, "dialect": dialect, "model": leaving.name(phase)}
    command = [
        "node",
        found.parents[1] / "leaving.mjs",
        json.dumps({**told, "session": leaving.session, "stream": stream}),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdin
        tools = leaving.reach(phase)
        client.stdin.write("leave\n")
        client.stdin.flush()
        leaving.require_stopped(phase, tools)
        assert client.poll() is None
        assert client.communicate(timeout=SECONDS)[0] == "left\n"
