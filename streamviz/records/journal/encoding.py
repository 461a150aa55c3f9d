"""Records of the journal: a length, a CRC-32, and an entry in MessagePack.

┌──────────────┬──────────────┬───────────────┐
│ length (u32) │ CRC-32 (u32) │ length bytes  │   little-endian, the CRC is the entry's
└──────────────┴──────────────┴───────────────┘
"""

from struct import Struct
from zlib import crc32

import msgspec

from streamviz.records.recorder import AnyEntry

HEADER = Struct("<II")
_encode = msgspec.msgpack.Encoder(uuid_format="bytes").encode
_decode = msgspec.msgpack.Decoder(AnyEntry).decode


def append_record(entry: AnyEntry, buffer: bytearray) -> None:
    """Put the entry's record behind what `buffer` holds."""
    try:
        payload = _encode(entry)
    except UnicodeEncodeError:
        payload = _encode(_mended(entry))
    buffer += HEADER.pack(len(payload), crc32(payload))
    buffer += payload


def records_in(data: bytes) -> tuple[list[AnyEntry], int]:
    """The entries of the whole records that `data` begins with, and how many bytes those take.

    A record whose checksum is wrong is not whole, and nothing can be told of what lies behind it.
    """
    entries: list[AnyEntry] = []
    start = 0
    with memoryview(data) as view:
        while (length := length_at(data, start)) is not None and start + length <= len(data):
            payload = view[start + HEADER.size : start + length]
            if HEADER.unpack_from(data, start)[1] != crc32(payload):
                break
            try:
                entries.append(_decode(payload))
            except msgspec.DecodeError:
                break
            start += length
    return entries, start


def length_at(data: bytes, start: int) -> int | None:
    """How many bytes the record that starts there takes, its header included; None where the header is not whole."""
    if len(data) - start < HEADER.size:
        return None
    length: int = HEADER.unpack_from(data, start)[0]
    return HEADER.size + length


def _mended(value: object) -> object:
    """The same with a question mark for each half of a surrogate pair, which UTF-8 cannot hold."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list() | tuple():
            return [_mended(item) for item in value]
        case msgspec.Struct():
            return type(value)(*(_mended(field) for field in msgspec.structs.astuple(value)))
        case _:
            return value
