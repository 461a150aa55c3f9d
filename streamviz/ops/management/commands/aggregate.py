"""`manage.py aggregate FORMAT FILE…`: recorded streams as their blocks, or a growing one as its events."""

import gzip
import json
import os
import time
import zlib
from argparse import ArgumentParser
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from django.core.management.base import BaseCommand, CommandError

from streamviz.aggregate import FORMATS, Aggregator, StreamEvent
from streamviz.core.aggregator import Chunk
from streamviz.core.errors import StreamvizError
from streamviz.core.framing import AnyFraming
from streamviz.core.json_value import JsonObject
from streamviz.core.summary import summary
from streamviz.core.wire import AGGREGATORS
from streamviz.live.presentation.figures import plural

_PIECE_BYTES = 65_536
_LOOK_SECONDS = 0.1
_GZIP = b"\x1f\x8b"


class Command(BaseCommand):
    """Needs no database."""

    help = "Aggregate recorded .sse files and print one JSON object a line, in their order."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=FORMATS)
        parser.add_argument("files", nargs="+", metavar="file", type=Path)
        parser.add_argument("--follow", action="store_true", help="print the events of one file as it grows")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["follow"]:
            self._follow(options["format"], options["files"])
            return
        unread = 0
        for file in options["files"]:
            told = _aggregated(options["format"], file)
            unread += "error" in told
            # ASCII only: text may have other line ends, such as U+2028, and each object has to stay on one line.
            self.stdout.write(json.dumps(told))
        if unread:
            raise CommandError(f"{unread} of {plural(len(options['files']), 'file')} cannot be read.")

    def _follow(self, wire_format: str, files: list[Path]) -> None:
        """Print events until the stream says that it is over, or Ctrl-C."""
        if len(files) != 1:
            raise CommandError("--follow takes one file.")
        stream = Aggregator(wire_format, self._say)
        try:
            for piece in growing(files[0]):
                stream.aggregate(piece)
                if stream.is_over:
                    break
        except OSError as error:
            raise CommandError(f"{files[0]}: {error.strerror}.") from None
        except KeyboardInterrupt:
            pass
        stream.close()

    def _say(self, event: StreamEvent) -> None:
        self.stdout.write(json.dumps(msgspec.to_builtins(event)))
        self.stdout.flush()


def growing(path: Path) -> Generator[bytes]:
    """What is in a file and what is added to it, forever. A file that was truncated or replaced is read from its
    beginning. Raises OSError if there is no such file at first."""
    file = path.open("rb")
    try:
        while True:
            if piece := file.read(_PIECE_BYTES):
                yield piece
                continue
            time.sleep(_LOOK_SECONDS)
            if _is_other(file, path):
                file.close()
                file = path.open("rb")
    finally:
        file.close()


def _is_other(file: BinaryIO, path: Path) -> bool:
    """Whether a file at its end was replaced by another, or truncated."""
    with suppress(FileNotFoundError):
        there = path.stat()
        return not os.path.samestat(os.fstat(file.fileno()), there) or there.st_size < file.tell()
    return False


def _aggregated(wire_format: str, file: Path) -> JsonObject:
    """The file's stream, or the error that reading it led to: one bad file must not hide the others."""
    try:
        data = file.read_bytes()
        return aggregate_bytes(wire_format, gzip.decompress(data) if data.startswith(_GZIP) else data)
    except (OSError, EOFError, zlib.error, StreamvizError) as error:
        return {"error": str(error)}


def aggregate_bytes(wire_format: str, data: bytes) -> JsonObject:
    """What a recorded stream adds up to."""
    aggregator = AGGREGATORS[wire_format]()
    parser = AnyFraming()
    for seq, event in enumerate([*parser.feed(data), *parser.close()]):
        aggregator.aggregate(Chunk(seq, 0, event.raw, event.data, event.name))
    aggregator.close()
    return summary(aggregator.state)
