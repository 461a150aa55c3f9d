"""`python manage.py demo`: start everything and let an agent work; what `make demo` runs."""

import threading
from functools import partial
from typing import Any

from streamviz.faults import Fault, end_with
from streamviz.ops import demo, supervisor
from streamviz.ops.command_line import SetByEnvironment
from streamviz.ops.welcome import say


class Command(SetByEnvironment):
    """Like `up`, with a coding agent at work whose model is the simulator."""

    help = "Start everything as `up` does, and play a coding agent's sessions through it; Ctrl-C ends it all."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            supervisor.run(_prepared)
        except Fault as fault:
            end_with(fault)


def _prepared() -> supervisor.Then:
    secret = demo.prepare()
    return partial(_play, secret)


def _play(secret: str, base_url: str) -> None:
    say("A coding agent is at work: look at the Live page. When it asks to push, allow or deny it there.")
    threading.Thread(target=demo.play_on, args=(base_url, secret), daemon=True).start()
