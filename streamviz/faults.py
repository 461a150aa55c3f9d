"""What can go wrong around the program, as opposed to inside it."""

import os
import sys
from typing import NoReturn


class Fault(Exception):
    """Something that the person who started streamviz can fix; the text is one line and says how."""

    status = 1


class Refused(Fault):
    """An invalid setting. Starting again would not help, which the exit status tells whatever restarts the program."""

    status = os.EX_CONFIG


def end_with(fault: Fault) -> NoReturn:
    """End the process, with the fault as its last message."""
    print(f"streamviz: {fault}", file=sys.stderr)
    sys.exit(fault.status)
