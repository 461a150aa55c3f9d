"""Decode the records of a journal in order, and find the next whole record after damage."""

from zlib import crc32

import msgspec

from streamviz.records.journal.encoding import HEADER
from streamviz.records.recorder import AnyEntry

_decode = msgspec.msgpack.Decoder(AnyEntry).decode


def records_in(data: bytes, marker: bytes = b"") -> tuple[list[AnyEntry], int]:
    """The entries of the whole records at the start of `data`, and how many bytes those records take."""
    placed, length = placed_in(data, marker)
    return [entry for _, entry in placed], length


def placed_in(data: bytes, marker: bytes) -> tuple[list[tuple[int, AnyEntry]], int]:
    """Like `records_in`, with the offset of each record beside its entry."""
    placed: list[tuple[int, AnyEntry]] = []
    place = 0
    with memoryview(data) as view:
        while (length := length_at(data, place, marker)) is not None and place + length <= len(data):
            entry = _entry(view[place : place + length], marker)
            if entry is None:
                break
            placed.append((place, entry))
            place += length
    return placed, place


def next_record(data: bytes, marker: bytes) -> int | None:
    """The offset of the next whole record after the first byte of `data`; None without one, or without a marker."""
    place = data.find(marker, 1) if marker else -1
    while place >= 0:
        length = length_at(data, place, marker)
        if length is not None and records_in(data[place : place + length], marker)[0]:
            return place
        place = data.find(marker, place + 1)
    return None


def length_at(data: bytes, place: int, marker: bytes = b"") -> int | None:
    """The size in bytes of the record at `place`; None if no record header is there, or not all of it yet."""
    start = place + len(marker)
    if len(data) - start < HEADER.size or not data.startswith(marker, place):
        return None
    length: int = HEADER.unpack_from(data, start)[0]
    return len(marker) + HEADER.size + length


def _entry(record: memoryview, marker: bytes) -> AnyEntry | None:
    payload = record[len(marker) + HEADER.size :]
    if HEADER.unpack_from(record, len(marker))[1] != crc32(payload, crc32(marker)):
        return None
    try:
        return _decode(payload)
    except msgspec.DecodeError:
        return None
