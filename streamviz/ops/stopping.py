"""Stopping by a signal, in a process without an event loop."""

import os
import signal
import threading


def stopped_by(*numbers: signal.Signals) -> threading.Event:
    """An event that is set once one of these signals has come. To be called on the main thread only.

    A signal handler interrupts whatever the main thread does. If that is waiting for the event, it may hold the lock
    that setting the event needs, and the process would hang. So the handler only writes to a pipe, and another thread
    sets the event.
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
