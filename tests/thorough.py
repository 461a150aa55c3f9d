"""How much a test run checks: `THOROUGH=1`, which CI sets, reads all recorded streams and tries many more examples."""

import os

IS_THOROUGH = os.environ.get("THOROUGH", "") not in ("", "0")


def examples(thorough: int = 100) -> int:
    """How many examples to try a property with: `thorough`, or about a quarter of that in a plain run."""
    return thorough if IS_THOROUGH else max(thorough // 4, min(thorough, 10))
