"""What a verdict found, in one line."""

from typing import Any

import pytest

from streamviz.live.presentation.evidence import evidence_text


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        ({}, ""),
        ({"counts": {"card": 1}, "spans": [{"start": 4, "end": 10, "label": "card"}]}, "characters 4–10"),
        ({"label": "match of x", "length": 6, "start": 4}, "characters 4–10 · label match of x"),
        ({"rule": "rm at $.command", "start": 0, "end": 2}, "characters 0–2 · rule rm at $.command"),
        ({"score": 0.7, "threshold": 0.5, "explanation": "why"}, "threshold 0.5"),
        ({"spans": [{"start": n, "end": n + 1} for n in range(9)]}, "characters 0–1, 1–2, 2–3, 3–4, 4–5, …"),
        ({"spans": "odd", "start": "x", "nested": {"a": 1}, "on\ntwo": "li\nnes"}, "on two li nes"),
    ],
)
def test_evidence_is_told_in_words(evidence: dict[str, Any], text: str) -> None:
    assert evidence_text(evidence, "Score 0.7: as it says.") == text
