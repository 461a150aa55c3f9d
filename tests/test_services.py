"""The ports that tests give to the processes that they start."""

from itertools import islice

import pytest

from tests import services

REFUSED_BY_BROWSERS = {4045, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
"""Those above 4000: https://fetch.spec.whatwg.org/#bad-port"""


@pytest.mark.parametrize("worker", range(20))
def test_a_worker_has_ports_of_its_own_that_a_browser_opens(worker: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", f"gw{worker}")
    ports = set(islice(services._own_ports(), 1000))
    assert len(ports) == 1000
    assert not ports & REFUSED_BY_BROWSERS
    assert {(port - 11_000) // 1000 for port in ports} == {worker}
