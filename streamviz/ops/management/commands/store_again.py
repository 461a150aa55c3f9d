"""`python manage.py store_again`: have the writer store again what Postgres refused before."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from streamviz.live.presentation.figures import plural
from streamviz.records.writer.refused import hand_back


class Command(BaseCommand):
    """For streams that were set aside, once the cause that the log gave is gone."""

    help = "Hand the streams that were set aside back to the writer. What is refused again is set aside again."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{plural(hand_back(settings.JOURNAL_DIR), 'stream')} handed back to the writer")
