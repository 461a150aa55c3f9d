"""`manage.py aggregate FORMAT FILE…`: recorded streams as their blocks, or one that grows as its events."""

import json
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError

from streamviz.aggregate import Aggregator, StreamEvent
from streamviz.core.aggregator import Chunk
from streamviz.core.errors import StreamvizError
from streamviz.core.json_value import JsonObject
from streamviz.core.sse import events_in
from streamviz.core.summary import summary
from streamviz.core.wire import AGGREGATORS

_PIECE_BYTES = 65_536
_LOOK_SECONDS = 0.1


class Command(BaseCommand):
    """Needs no database."""

    help = "Aggregate recorded .sse files and print one JSON object a line, in their order."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=sorted(AGGREGATORS))
        parser.add_argument("files", nargs="+", metavar="file", type=Path)
        parser.add_argument("--follow", action="store_true", help="print the events of one file as it grows")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["follow"]:
            self._follow(options["format"], options["files"])
            return
        for file in options["files"]:
            # ASCII alone: text may hold other line ends, such as U+2028, and an object is to stay on one line.
            self.stdout.write(json.dumps(_aggregated(options["format"], file)))

    def _follow(self, wire_format: str, files: list[Path]) -> None:
        """Until the stream says that it is over, or Ctrl-C."""
        if len(files) != 1:
            raise CommandError("--follow takes one file.")
        stream = Aggregator(wire_format, self._say)
        try:
            with files[0].open("rb") as file:
                while not stream.is_over:
                    if piece := file.read(_PIECE_BYTES):
                        stream.aggregate(piece)
                    else:
                        time.sleep(_LOOK_SECONDS)
        except OSError as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            pass
        stream.close()

    def _say(self, event: StreamEvent) -> None:
        self.stdout.write(json.dumps(msgspec.to_builtins(event)))
        self.stdout.flush()


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
