"""Records of the journal: a marker, a length, a CRC-32, and an entry in MessagePack.

┌────────┬──────────────┬──────────────┬───────────────┐
│ marker │ length (u32) │ CRC-32 (u32) │ length bytes  │   little-endian, the CRC is of the marker and the entry
└────────┴──────────────┴──────────────┴───────────────┘

The marker is random and belongs to one journal, so the next record can be found after damage, and nothing that a model
or a client wrote can be mistaken for a record. Journals of earlier versions, and files of refused streams, have no
marker.
"""

from struct import Struct
from zlib import crc32

import msgspec

from streamviz.records.recorder import AnyEntry

HEADER = Struct("<II")
_LEAST, _MOST = -(2**63), 2**64 - 1
_encode = msgspec.msgpack.Encoder(uuid_format="bytes").encode


def append_record(entry: AnyEntry, buffer: bytearray, marker: bytes = b"") -> None:
    """Append the entry's record to `buffer`."""
    try:
        payload = _encode(entry)
    except (UnicodeEncodeError, OverflowError):
        payload = _encode(_mended(entry))
    buffer += marker
    buffer += HEADER.pack(len(payload), crc32(payload, crc32(marker)))
    buffer += payload


def _mended(value: object) -> object:
    """The same value with a question mark for each surrogate, which UTF-8 cannot encode, and with integers clamped to
    what fits in 64 bits."""
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
