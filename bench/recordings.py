"""Recorded streams of a provider, and an empty database to store them in."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamviz.core.sse import SSEParser
from streamviz.ops.embedded_postgres import DATABASE, USER, EmbeddedPostgres, socket_dir

OPENAI_CHAT = Path(__file__).resolve().parent.parent.parent / "shared" / "streams" / "openai_chat"


def recorded_streams(folder: Path) -> list[list[bytes]]:
    """The chunks of each recorded stream."""
    streams = []
    for path in sorted(folder.glob("*.sse")):
        parser = SSEParser()
        streams.append([event.raw for event in (*parser.feed(path.read_bytes()), *parser.close())])
    return streams


@contextmanager
def empty_database() -> Iterator[str]:
    """The URL of DATABASE_URL's database, or else of one on a server started for this."""
    if given := os.environ.get("DATABASE_URL"):
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="streamviz-bench-"))
    server = EmbeddedPostgres(folder / "postgres")
    try:
        server.start()
        yield f"postgresql://{USER}@/{DATABASE}?host={socket_dir(server.data)}"
    finally:
        server.stop()
        shutil.rmtree(folder)
