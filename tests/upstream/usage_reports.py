"""Usage reports as providers send them, and what each costs: tokens at each price of a table.

The parts of each report were split by hand according to the price lists; the table is a copy of LiteLLM's map.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple


class Report(NamedTuple):
    """`tier` is the service tier given with the usage; `parts` are tokens by price, all times `factor`."""

    what: str
    provider: str
    model: str
    usage: dict[str, Any]
    tier: str
    parts: dict[str, int]
    factor: float = 1.0


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(__file__).parent / name).read_text().splitlines()]


REPORTS = [Report(**line) for line in _lines("usage_reports.jsonl")]
# US dollars per token.
PRICES: dict[str, dict[str, float]] = {line["model"]: line["prices"] for line in _lines("usage_prices.jsonl")}
