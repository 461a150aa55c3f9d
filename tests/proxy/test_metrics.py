"""Models in labels: those that operators and providers named, and of the latter not ever more."""

from types import SimpleNamespace
from typing import Any

import pytest

from streamviz.proxy import metrics


def label(asked: str, upstream: str = "m", cost: float | None = None, *, is_route: bool = False) -> str:
    stream: Any = SimpleNamespace(requested_model=asked, upstream_model=upstream, cost=cost)
    return metrics.model_of(stream, is_route)


def test_what_clients_make_up_is_one_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_models", set())
    assert label("made-up-1") == label("made-up-2", "made-up-2") == metrics.OTHER
    assert label("openai/gpt-5", "gpt-5", 0.25) == "gpt-5"
    priced = {label(f"p/m{n}", f"m{n}", 0.1) for n in range(1_000)}
    assert len(priced) == metrics._MOST_MODELS
    assert label("openai/gpt-5", "gpt-5", 0.25) == "gpt-5"
    assert label("our-route", is_route=True) == "our-route"
