"""`python manage.py delete_session SESSION…`: delete sessions with everything recorded of them."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from streamviz.live.presentation.figures import plural
from streamviz.records.deletion import delete_session
from streamviz.records.models import Session


class Command(BaseCommand):
    """Running streams of theirs go on, unrecorded. This cannot be undone."""

    help = "Delete sessions with their streams, chunks, blocks and verdicts."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sessions", nargs="+", type=UUID, metavar="session", help="a session's id")

    def handle(self, *args: Any, **options: Any) -> None:
        missing = []
        for session_id in dict.fromkeys(options["sessions"]):
            if Session.objects.filter(pk=session_id).exists():
                self.stdout.write(f"{session_id}: {plural(delete_session(session_id), 'stream')} deleted")
            else:
                missing.append(str(session_id))
        if missing:
            raise CommandError(f"No such session: {', '.join(missing)}.")
