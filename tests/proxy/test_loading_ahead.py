"""The packages that a worker imports before anybody waits for them."""

import subprocess
import sys

import pytest

from tests.services import ROOT, clean_environment

pytestmark = [pytest.mark.slow, pytest.mark.integration]

WORKER = """
import asyncio
import sys
import django

django.setup()
from streamviz.executors.mcp_tools import McpServer
from streamviz.proxy.worker import Worker

async def load_with(*servers):
    worker = Worker()
    worker.configuration.mcp_servers = servers
    worker._load_ahead()
    await asyncio.gather(*worker._behind)
    print("mcp" in sys.modules)

asyncio.run(load_with())
asyncio.run(load_with(McpServer("calc")))
"""


def test_the_package_for_mcp_servers_is_loaded_if_there_are_any() -> None:
    """Otherwise its import would count as part of the first server's start."""
    command = [sys.executable, "-W", "ignore", "-c", WORKER]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"]
