"""Sessions from the lines that `exporting` writes, stored as the writer stores them."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from typing import Any
from uuid import UUID

import msgspec

from streamviz.core.json_value import encode
from streamviz.core.policy import Mode
from streamviz.records.exporting import BLOCK_FIELDS, BLOCK_TIMES, VERSION, Line
from streamviz.records.models import ApiKey, DeletedStream, Policy, PolicyVersion, Session
from streamviz.records.models.policies import PolicyFields
from streamviz.records.moments import as_datetime
from streamviz.records.partitions import make_days
from streamviz.records.recorder import (
    BlockRecord,
    ChunksReceived,
    FramesSent,
    StreamClosed,
    StreamOpened,
    VerdictRecord,
)
from streamviz.records.writer.pending import Batch
from streamviz.records.writer.store import Store

# The policies that verdicts from elsewhere point to have names of their own and are off: they judge nothing here.
PREFIX = "imported-"


class NotAnExport(Exception):
    """The lines are not those of an export; the text says which one is not, and why."""


class Importing:
    """Stores exported sessions. What is here already stays as it is; keys are found by their names."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: Line = {}
        self._batch: Batch | None = None
        self._versions: dict[tuple[str, int], int] = {}
        self.streams = 0

    def take(self, lines: Iterable[bytes]) -> None:
        """Raises NotAnExport; what came before the line at fault is stored."""
        takers: dict[str, Callable[[Line], None]] = {
            "session": self._take_session,
            "stream": self._take_stream,
            "block": self._take_block,
            "verdict": self._take_verdict,
            "chunk": self._take_chunk,
            "frame": self._take_frame,
        }
        for number, line in enumerate(lines, 1):
            try:
                [(what, value)] = msgspec.json.decode(line, type=dict[str, dict[str, Any]]).items()
                if number == 1:
                    _check(what, value)
                else:
                    takers[what](value)
            except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
                raise NotAnExport(f"Line {number} is not what an export has there: {error!r}") from error
        self._store_stream()

    def _take_session(self, value: Line) -> None:
        self._store_stream()
        self._session = value

    def _take_stream(self, value: Line) -> None:
        self._store_stream()
        stream_id = UUID(value["id"])
        batch = self._batch = Batch(stream_id, UUID(int=0))
        batch.opened = StreamOpened(
            stream_id=stream_id,
            session_id=UUID(self._session["id"]),
            session_label=self._session["label"],
            key_id=ApiKey.objects.filter(name=value["key"]).values_list("pk", flat=True).first(),
            request=_bytes(value["request"]),
            **{name: value[name] for name in StreamOpened.__struct_fields__ if name in value and name != "request"},
        )
        batch.closed = StreamClosed(
            stream_id=stream_id,
            usage=None if value["usage"] is None else encode(value["usage"]),
            itl_p50=value["itl_p50_us"],
            itl_p95=value["itl_p95_us"],
            blocks=[],
            **{name: value[name] for name in StreamClosed.__struct_fields__ if name in value and name != "usage"},
        )

    def _take_block(self, value: Line) -> None:
        assert self._batch
        assert self._batch.closed
        self._batch.closed.blocks.append(BlockRecord(**{name: value[name] for name in (*BLOCK_FIELDS, *BLOCK_TIMES)}))

    def _take_verdict(self, value: Line) -> None:
        assert self._batch
        version_id = self._version(value.pop("policy"))
        self._batch.verdicts.append(VerdictRecord(policy_version_id=version_id, took=value.pop("took_us"), **value))

    def _take_chunk(self, value: Line) -> None:
        assert self._batch
        raws = [_bytes(value["raw"])] if "raw" in value else []
        sizes = [] if raws else [value["length"]]
        self._batch.add(ChunksReceived(self._batch.stream_id, value["seq"], value["received_at"], raws, sizes))

    def _take_frame(self, value: Line) -> None:
        assert self._batch
        seq = value.get("seq")
        made = [] if seq is not None else [(value["origin"], _bytes(value["raw"]))]
        self._batch.add(FramesSent(self._batch.stream_id, value["number"], value["sent_at"], [seq], made))

    def _version(self, value: Line) -> int:
        """The id here of a policy's version there; made where there is none."""
        name, number = f"{PREFIX}{value['name']}"[:60], value["number"]
        if (name, number) not in self._versions:
            names = {field.name for field in PolicyFields._meta.local_fields}
            fields = {key: each for key, each in value.items() if key in names}
            policy = Policy.objects.filter(name=name).first()
            if policy is None:
                # Not by `save`, which would make a version of its own.
                off = fields | {"mode": Mode.OFF.value}
                [policy] = Policy.objects.bulk_create([Policy(name=name, version=number, **off)])
            version, _ = PolicyVersion.objects.get_or_create(policy=policy, number=number, defaults=fields)
            self._versions[name, number] = version.pk
        return self._versions[name, number]

    def _store_stream(self) -> None:
        batch, self._batch = self._batch, None
        if batch is None or batch.opened is None:
            return
        DeletedStream.objects.filter(stream_id=batch.stream_id).delete()
        make_days(self._store.connection, {as_datetime(batch.opened.requested_at).astimezone(UTC).date()})
        self._store.write([batch])
        session = Session.objects.get(pk=batch.opened.session_id)
        session.is_starred |= self._session["is_starred"]
        session.note = session.note or self._session["note"]
        session.save(update_fields=["is_starred", "note"])
        self.streams += 1


def _check(what: str, value: Line) -> None:
    if what != "streamviz" or value.get("version") != VERSION:
        raise ValueError(f"an export of version {VERSION} begins otherwise")


def _bytes(value: str | dict[str, str]) -> bytes:
    return value.encode() if isinstance(value, str) else b64decode(value["base64"])


def lines_of(file: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a file that are not empty."""
    return (line for line in file if line.strip())
