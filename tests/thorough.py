"""How much a run checks: `THOROUGH=1`, as CI sets it, reads all recorded streams and draws many more examples."""

import os

IS_THOROUGH = os.environ.get("THOROUGH", "") not in ("", "0")


def examples(thorough: int = 100) -> int:
    """How many examples a property is tried with: so many, or, in a plain run, a quarter of them."""
    return thorough if IS_THOROUGH else max(thorough // 4, min(thorough, 10))
