"""`python manage.py up`: start everything; what `make run` runs."""

from typing import Any

from streamviz.faults import Fault, end_with
from streamviz.ops import supervisor
from streamviz.ops.command_line import SetByEnvironment


class Command(SetByEnvironment):
    """Start the database (if none is given), the simulator and the server, and end them on Ctrl-C."""

    help = "Start the database (unless DATABASE_URL is set), simulator, writer and server; Ctrl-C stops them all."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            supervisor.run()
        except Fault as fault:
            end_with(fault)
