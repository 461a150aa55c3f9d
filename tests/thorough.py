"""How much a test run checks: `THOROUGH=1`, which CI sets, includes slow tests, reads all recorded streams and tries
many more examples."""

import os

import pytest

IS_THOROUGH = os.environ.get("THOROUGH", "") not in ("", "0")


def examples(thorough: int = 100) -> int:
    """How many examples to try a property with: `thorough`, or about a quarter of that in a plain run."""
    return thorough if IS_THOROUGH else max(thorough // 4, min(thorough, 10))


def leaves_out_slow(config: pytest.Config) -> bool:
    """Whether this is a plain run of all tests. A run of chosen files, tiers or names has slow ones."""
    chosen = config.option.markexpr or config.option.keyword or config.args != config.getini("testpaths")
    return not IS_THOROUGH and not chosen
