"""Who may read /metrics, what it contains, and that docs and dashboard know all of it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from streamviz import vitals
from streamviz.records import metrics as of_the_record
from streamviz.serving.metrics import exposition, may_read, who_may_read

HERE = {"host": "127.0.0.1:8000"}


@pytest.mark.parametrize(
    ("client", "headers", "may"),
    [
        ("127.0.0.1", HERE, True),
        ("::ffff:127.0.0.1", {"host": "localhost"}, True),
        ("::1", {"host": "[::1]:8000"}, True),
        ("203.0.113.7", HERE, False),
        ("127.0.0.1", {"host": "evil.example:8000"}, False),
        ("127.0.0.1", {**HERE, "x-forwarded-for": "203.0.113.7"}, False),
        ("127.0.0.1", {}, False),
    ],
)
def test_without_a_token_this_machine_alone(client: str, headers: dict[str, str], may: bool, settings: Any) -> None:
    settings.METRICS_TOKEN, settings.TRUSTED_PROXIES = "", ()
    assert may_read(scope(client, headers)) is may
    settings.TRUSTED_PROXIES = ("a proxy on this machine",)
    assert not may_read(scope(client, headers))


@pytest.mark.parametrize(("sent", "may"), [("Bearer right", True), ("Bearer wrong", False), ("right", False)])
def test_with_a_token_whoever_sends_it(sent: str, may: bool, settings: Any) -> None:
    settings.METRICS_TOKEN = "right"
    for client in ("127.0.0.1", "203.0.113.7"):
        assert may_read(scope(client, {**HERE, "authorization": sent})) is may


@pytest.mark.parametrize(
    ("token", "proxies", "told"),
    [
        ("", (), "Ask from this machine, or set METRICS_TOKEN and send it as a bearer token."),
        ("", ("a proxy",), "Set METRICS_TOKEN, and send it as a bearer token."),
        ("right", (), "Send METRICS_TOKEN as a bearer token."),
        ("right", ("a proxy",), "Send METRICS_TOKEN as a bearer token."),
    ],
)
def test_who_may_not_read_it_is_told_what_would_help(
    token: str, proxies: tuple[str, ...], told: str, settings: Any
) -> None:
    settings.METRICS_TOKEN, settings.TRUSTED_PROXIES = token, proxies
    assert who_may_read() == told


def scope(client: str, headers: dict[str, str]) -> dict[str, Any]:
    return {"client": (client, 5), "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}


ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def exported(settings: Any, tmp_path: Path) -> dict[str, str]:
    """The names and types of all metrics."""
    assert all((vitals, of_the_record))  # everything with metrics of its own is imported
    settings.JOURNAL_DIR = tmp_path
    families = text_string_to_metric_families(exposition().decode())
    totals = {family.name + "_total" * (family.type == "counter"): family.type for family in families}
    return {name: kind for name, kind in totals.items() if not name.endswith("_created")}


def test_each_figure_is_in_the_docs(exported: dict[str, str]) -> None:
    told = set(re.findall(r"^\| `(streamviz_\w+)`", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
    assert told == set(exported)


def test_the_dashboard_asks_for_what_is_exported(exported: dict[str, str]) -> None:
    dashboard = json.loads((ROOT / "deploy/grafana/streamviz.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    expressions += [each["query"]["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    asked = set(re.findall(r"streamviz_\w+", " ".join(expressions)))
    series = {f"{name}_bucket" if kind == "histogram" else name for name, kind in exported.items()}
    assert asked == series
