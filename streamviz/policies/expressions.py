"""CEL (the Common Expression Language) without its command line.

The package imports that too, and with it terminal libraries that take longer to import than all of Django.
"""

import sys
from types import ModuleType

sys.modules.setdefault("cel.cli", ModuleType("cel.cli"))

import cel  # noqa: E402

__all__ = ["cel"]
