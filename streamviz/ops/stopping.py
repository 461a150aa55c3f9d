"""To be told by a signal to stop, in a process without an event loop."""

import os
import signal
import threading


def stopped_by(*numbers: signal.Signals) -> threading.Event:
    """An event that is set once one of these signals came. Only the main thread may ask for it.

    A handler runs in the midst of whatever the main thread does: where that waits for the event, it may hold the lock
    that setting it takes, and would stand still for good. So the handler only writes, and a thread of its own sets it.
    """
    stop = threading.Event()
    reader, writer = os.pipe()

    def wait() -> None:
        os.read(reader, 1)
        stop.set()

    threading.Thread(target=wait, name="stopping", daemon=True).start()
    for number in numbers:
        signal.signal(number, lambda *_: os.write(writer, b"\n"))
    return stop
