"""`python -m streamviz.ops.child MODULE ARGUMENTS…`: run a module that ends when the process that started it does.

The starter holds the other end of standard input and never writes to it. When the starter is gone, for whatever reason,
the pipe closes, and this process ends as if it had been told to.
"""

import gc
import os
import runpy
import signal
import sys
import threading
import time

# In addition to the time that the server's streams get, which this program is too small to ask Django for.
GRACE_SECONDS = 12
STREAMS_SECONDS = float(os.environ.get("STOP_GRACE_SECONDS", "").strip() or 8)


def end_with_starter() -> None:
    """Wait for the pipe to close, then end this process: politely, and after a grace period at once."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STREAMS_SECONDS + GRACE_SECONDS)
    os._exit(1)


def main() -> None:
    """Watch the pipe and run the module as `python -m` would."""
    threading.Thread(target=end_with_starter, name="end-with-starter", daemon=True).start()
    gc.set_threshold(20_000)  # as in streamviz/__main__.py
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
