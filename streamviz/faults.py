"""What can go wrong around the program, as opposed to inside it."""

import errno
import os
import socket
import sys
from typing import NoReturn


class Fault(Exception):
    """Something that the person who started streamviz can fix; the text is one line and says how."""

    status = 1


class Refused(Fault):
    """An invalid setting. Starting again would not help, which the exit status tells whatever restarts the program."""

    status = os.EX_CONFIG


def cannot_listen(error: OSError, host: str, port: int, variable: str = "PORT") -> Fault:
    """The fault of a server that cannot have its address; `variable` is the setting that changes the port."""
    if isinstance(error, socket.gaierror):
        return Fault(f"HOST={host} cannot be looked up. Set HOST to an address of this machine.")
    if error.errno == errno.EADDRNOTAVAIL:
        return Fault(f"HOST={host} is not an address of this machine. Set HOST to one that is, or to 0.0.0.0.")
    if error.errno == errno.EADDRINUSE:
        why = "is in use by another program"
    else:
        why = f"cannot be used ({(os.strerror(error.errno) if error.errno else str(error)).lower()})"
    other = port + 80 if port < 60_000 else port - 80
    return Fault(f"Port {port} on {host} {why}. Set {variable} to another one, such as {variable}={other}.")


def end_with(fault: Fault) -> NoReturn:
    """End the process, with the fault as its last message."""
    print(f"streamviz: {fault}", file=sys.stderr)
    sys.exit(fault.status)
