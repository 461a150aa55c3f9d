"""Records of the journal: a marker, a length, a CRC-32, and an entry in MessagePack.

┌────────┬──────────────┬──────────────┬───────────────┐
│ marker │ length (u32) │ CRC-32 (u32) │ length bytes  │   little-endian, the CRC is the marker's and the entry's
└────────┴──────────────┴──────────────┴───────────────┘

The marker is the journal's own and random, so that behind damage the next record can be found, and nothing that a model
or a client wrote be taken for one. Journals of before, and what was set aside, have none.
"""

from struct import Struct
from zlib import crc32

import msgspec

from streamviz.records.recorder import AnyEntry

HEADER = Struct("<II")
_LEAST, _MOST = -(2**63), 2**64 - 1
_encode = msgspec.msgpack.Encoder(uuid_format="bytes").encode
_decode = msgspec.msgpack.Decoder(AnyEntry).decode


def append_record(entry: AnyEntry, buffer: bytearray, marker: bytes = b"") -> None:
    """Put the entry's record behind what `buffer` holds."""
    try:
        payload = _encode(entry)
    except (UnicodeEncodeError, OverflowError):
        payload = _encode(_mended(entry))
    buffer += marker
    buffer += HEADER.pack(len(payload), crc32(payload, crc32(marker)))
    buffer += payload


def records_in(data: bytes, marker: bytes = b"") -> tuple[list[AnyEntry], int]:
    """The entries of the whole records that `data` begins with, and how many bytes those take."""
    placed, length = placed_in(data, marker)
    return [entry for _, entry in placed], length


def placed_in(data: bytes, marker: bytes = b"") -> tuple[list[tuple[int, AnyEntry]], int]:
    """The same, each with where its record begins."""
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
    """Where the next whole record behind the first byte of `data` begins; None where there is none, or no marker."""
    place = data.find(marker, 1) if marker else -1
    while place >= 0:
        length = length_at(data, place, marker)
        if length is not None and records_in(data[place : place + length], marker)[0]:
            return place
        place = data.find(marker, place + 1)
    return None


def length_at(data: bytes, place: int, marker: bytes = b"") -> int | None:
    """How many bytes the record that begins there takes; None where no header of one is there, or not all of it yet."""
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


def _mended(value: object) -> object:
    """The same with a question mark for each half of a surrogate pair, which UTF-8 cannot hold, and with the nearest
    number that 64 bits can."""
    match value:
        case bool():
            return value
        case int():
            return max(_LEAST, min(value, _MOST))
        case str():
            return value.encode("utf-8", "replace").decode()
        case list() | tuple():
            return [_mended(item) for item in value]
        case dict():
            return {_mended(key): _mended(item) for key, item in value.items()}
        case msgspec.Struct():
            return type(value)(*(_mended(field) for field in msgspec.structs.astuple(value)))
        case _:
            return value
