"""Recorded streams, sent again with their bytes unchanged."""

import re
from collections.abc import Iterator
from pathlib import Path

from streamviz.simulator.asked import AskedReplay
from streamviz.simulator.errors import ProviderError
from streamviz.simulator.reply import Frame

PIECE_BYTES = 16 * 1024
_RECORDING = re.compile(r"[a-z_]+/[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_EVENTS = re.compile(rb".+?(?:(?:\r\n){2,}|\n{2,}|\r{2,}|\Z)", re.DOTALL)


def recording(folder: Path | None, wire_format: str, asked: AskedReplay) -> bytes:
    """The bytes of a recorded stream in that format.

    Raises ProviderError: 404 if the folder has no such recording, 400 if it is in another format.
    """
    model = f"replay:{asked.recording}"
    if folder is None or not _RECORDING.fullmatch(asked.recording):
        raise ProviderError.no_such_model(model)
    path = (folder / f"{asked.recording}.sse").resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise ProviderError.no_such_model(model)
    if asked.recording.partition("/")[0] != wire_format:
        raise ProviderError.bad_request(f"`{model}` is not a stream of this endpoint's format.", "model")
    return path.read_bytes()


def replay_frames(data: bytes, asked: AskedReplay) -> Iterator[Frame]:
    """The recording, cut as requested: at its events, into pieces of one size, or into the largest pieces."""
    if asked.pieces:
        cuts = (data[at : at + asked.pieces] for at in range(0, len(data), asked.pieces))
    elif asked.pace:
        cuts = (match.group() for match in _EVENTS.finditer(data))
    else:
        cuts = (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))
    for cut in cuts:
        yield asked.pace / 1000, cut
