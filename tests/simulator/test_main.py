"""The process: its options and imports."""

import os
import subprocess
import sys

import pytest

from tests.simulator.process import ROOT, Simulator

pytestmark = pytest.mark.integration


def test_a_taken_port_costs_one_line(simulator: Simulator) -> None:
    environment = os.environ | {"SIMULATOR_PORT": str(simulator.port)}
    command = [sys.executable, "-m", "streamviz.simulator"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert str(simulator.port) in done.stderr


def test_a_port_that_is_none_is_told_so() -> None:
    command = [sys.executable, "-m", "streamviz.simulator", "--port", "99999"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_speed_that_is_none_is_told_so() -> None:
    command = [sys.executable, "-m", "streamviz.simulator"]
    environment = os.environ | {"SIMULATOR_SPEED": "fast"}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("a speed is a number from 0, or inf, not 'fast'")


def test_a_folder_that_is_not_there_is_told_so(simulator: Simulator) -> None:
    command = [sys.executable, "-m", "streamviz.simulator", "--replay-dir", "no-such", "--port", str(simulator.port)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("there is no folder 'no-such'")


def test_it_imports_nothing_of_django_nor_of_the_rest() -> None:
    program = (
        "import sys, streamviz.simulator.__main__\n"
        "names = [name for name in sys.modules if name.startswith(('django', 'channels', 'litellm', 'streamviz.'))]\n"
        "print([name for name in names if not name.startswith('streamviz.simulator')])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
