"""Models as labels: those that operators or providers named, the latter only up to a limit. Gaps between chunks."""

from array import array
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Histogram

from streamviz.figures import Batch
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


def figures_of(histogram: Histogram) -> list[float]:
    [family] = histogram.collect()
    return [sample.value for sample in family.samples if not sample.name.endswith("_created")]


def test_gaps_are_counted_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_one, at_once = (
        Histogram(name, "Between chunks", registry=CollectorRegistry(), buckets=metrics._GAPS) for name in ("a", "b")
    )
    batch = Batch()
    monkeypatch.setattr(metrics, "_batch", batch)
    gaps = [0, 1, 999, 1_000, 1_001, 60_000_000, 60_000_001, 3_600_000_000, *range(0, 12_000, 700)]
    for gap in gaps:
        one_by_one.observe(gap / 1_000_000)
    metrics._observe_gaps(at_once, array("q", accumulate(gaps, initial=7)))
    for few in ([], [5]):
        metrics._observe_gaps(at_once, array("q", few))
    batch.put()
    assert figures_of(at_once) == pytest.approx(figures_of(one_by_one), rel=1e-9)
