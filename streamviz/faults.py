"""What can go wrong around the program, as opposed to inside it."""

import os
import sys
from typing import NoReturn


class Fault(Exception):
    """Something that the person who started streamviz can fix; the text is one line and says how."""

    status = 1


class Refused(Fault):
    """A setting that cannot be so. To start again changes nothing, which the exit status says to what would."""

    status = os.EX_CONFIG


def end_with(fault: Fault) -> NoReturn:
    """End the process, with the fault as the last thing that it says."""
    print(f"streamviz: {fault}", file=sys.stderr)
    sys.exit(fault.status)
