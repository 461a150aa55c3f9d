"""`manage.py aggregate FORMAT FILE…`: recorded streams as their blocks."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from streamviz.core.aggregator import Chunk
from streamviz.core.errors import StreamvizError
from streamviz.core.json_value import JsonObject
from streamviz.core.sse import events_in
from streamviz.core.summary import summary
from streamviz.core.wire import AGGREGATORS


class Command(BaseCommand):
    """Needs no database."""

    help = "Aggregate recorded .sse files and print one JSON object a line, in their order."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=sorted(AGGREGATORS))
        parser.add_argument("files", nargs="+", metavar="file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        for file in options["files"]:
            # ASCII alone: text may hold other line ends, such as U+2028, and an object is to stay on one line.
            self.stdout.write(json.dumps(_aggregated(options["format"], file)))


def _aggregated(wire_format: str, file: Path) -> JsonObject:
    """The file's stream, or the error that it led to: one bad file must not hide the others."""
    try:
        return aggregate_bytes(wire_format, file.read_bytes())
    except (OSError, StreamvizError) as error:
        return {"error": str(error)}


def aggregate_bytes(wire_format: str, data: bytes) -> JsonObject:
    """What a recorded stream adds up to."""
    aggregator = AGGREGATORS[wire_format]()
    for seq, event in enumerate(events_in(data)):
        aggregator.aggregate(Chunk(seq, 0, event.raw, event.data, event.name))
    aggregator.close()
    return summary(aggregator.state)
