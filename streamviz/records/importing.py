"""Import sessions from the lines that `exporting` writes, stored as the writer stores them."""

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, BinaryIO
from uuid import UUID

import msgspec
import psycopg
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import DataError, IntegrityError, transaction
from django.db.models import Q

from streamviz import policies
from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject, encode, require_shallow
from streamviz.core.judgements import NotRun
from streamviz.core.verdicts import Mode
from streamviz.records.block_record import BlockRecord
from streamviz.records.columns import bytes_from_line, clean, clean_name
from streamviz.records.exporting import VERSION, Line
from streamviz.records.imported_values import AHEAD, Order, checked, require_natural
from streamviz.records.models import Annotation, ApiKey, Policy, PolicyVersion, Session, Stream
from streamviz.records.models.policies import OWN_CODE, PolicyFields
from streamviz.records.moments import as_datetime
from streamviz.records.partitions import day_of
from streamviz.records.recorder import ChunksReceived, FramesSent, StreamClosed, StreamOpened
from streamviz.records.retention import held_off
from streamviz.records.tables import BLOCK, CLOSED, OPENED, VERDICT
from streamviz.records.verdict_record import VerdictRecord
from streamviz.records.writer.pending import NO_WORKER, Batch
from streamviz.records.writer.store import Store

# Policies that imported verdicts refer to get names with this prefix and are off: they judge nothing here.
PREFIX = "imported-"

# The version id of a policy that was not on record where its verdict comes from; no version has it.
_NO_POLICY = 0

# The first version with an `end` line; older exports do not say whether they are whole.
_FIRST_WITH_END = 2

# More than any field takes in Postgres; without a limit, reading a line might never end.
LONGEST_LINE = 2**30
# A line that is longer is read on only if it begins as those of an export do.
_BEGINNING = b'{"'
_READ_AT_ONCE = 2**16
# How many characters of a fault an error quotes.
_QUOTED = 300
# Each version made here of a policy gets the next number, and the column holds up to 2**31.
_MOST_VERSION = 10**9

# The errors that a file causes if no `export` wrote it, or if it was damaged since.
_FAULTS = (
    *(msgspec.DecodeError, RecursionError, KeyError, TypeError, ValueError, OverflowError, AttributeError),
    *(struct.error, ValidationError, DataError, IntegrityError, psycopg.DataError, psycopg.IntegrityError),
    psycopg.errors.ProgramLimitExceeded,
)


class NotAnExport(Exception):
    """The lines are not those of an export; the text says which line is wrong, and why."""


class SessionLine(msgspec.Struct):
    """A session's line."""

    id: UUID
    label: str
    is_starred: bool
    note: str
    name: str = ""


class AnnotationLine(msgspec.Struct):
    """What people added to a stream, in its line."""

    is_starred: bool
    note: str
    labels: list[str]


class Importing:
    """Stores exported sessions. What already exists here is left unchanged; keys are found by their names."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: SessionLine | None = None
        self._order = Order()
        self._stored: Batch | None = None
        self._annotation: AnnotationLine | None = None
        self._versions: dict[tuple[str, int, bytes], int] = {}
        self._is_over = False
        self.streams = 0
        # Those of them that came without their chunks.
        self.bare = 0

    def take(self, lines: Iterable[bytes]) -> None:
        """Store what the lines hold. Raises NotAnExport; the streams before the faulty line's are stored, it is not."""
        takers: dict[str, Callable[[Line], None]] = {
            "session": self._take_session,
            "stream": self._take_stream,
            "block": self._take_block,
            "verdict": self._take_verdict,
            "chunk": self._take_chunk,
            "frame": self._take_frame,
            "end": self._take_end,
        }
        number = 0
        for number, line in enumerate(lines, 1):
            with _faults_at(number):
                require_shallow(line)
                [(what, value)] = msgspec.json.decode(line, type=dict[str, dict[str, Any]]).items()
                if number == 1 or what == "streamviz":
                    self._begin(what, value, is_first=number == 1)
                else:
                    takers[what](value)
        if not number:
            raise NotAnExport("The file is empty.")
        if not self._is_over:
            raise NotAnExport(f"It is cut off after line {number}: the streams before the last one are stored.")
        with _faults_at(number):
            self._store_stream()

    def _begin(self, what: str, value: Line, *, is_first: bool) -> None:
        """Another export may follow the end of one, as when files were joined with `cat`."""
        if not (is_first or self._is_over):
            raise ValueError("another export begins, and the one before it was cut off")
        self._store_stream()
        self._is_over = _checked_version(what, value) < _FIRST_WITH_END

    def _take_end(self, _: Line) -> None:
        self._is_over = True

    def _take_session(self, value: Line) -> None:
        self._store_stream()
        self._session = msgspec.convert(value, SessionLine)
        self._order.session()

    def _take_stream(self, value: Line) -> None:
        stream_id = UUID(value["id"])
        self._order.stream(stream_id)
        self._store_stream()
        if self._session is None:
            raise ValueError("it belongs to no session")
        if (made := day_of(stream_id)) is not None and made > datetime.now(UTC).date() + AHEAD:
            # Its partition would never be dropped, and a file could have one for each day of many years.
            raise ValueError("it is dated in the future")
        self._annotation = msgspec.convert(value["annotation"], AnnotationLine) if "annotation" in value else None
        opened = StreamOpened(
            stream_id=stream_id,
            session_id=self._session.id,
            session_label=self._session.label,
            session_name=self._session.name,
            key_id=ApiKey.objects.filter(name=value["key"]).values_list("pk", flat=True).first(),
            **OPENED.fields(value),
        )
        msgspec.convert(opened.not_run, list[NotRun])
        closed = StreamClosed(stream_id=stream_id, blocks=[], **CLOSED.fields(value))
        self._stored = Batch(stream_id, NO_WORKER, opened=checked(opened), closed=checked(closed))
        # If it was here, retention dropped it, which nothing else tells.
        self._stored.was_counted = settings.RETENTION.is_past(as_datetime(opened.requested_at), datetime.now(UTC))

    @property
    def _batch(self) -> Batch:
        """The stream whose lines are being read. Raises ValueError before the first stream."""
        if self._stored is None:
            raise ValueError("it belongs to no stream")
        return self._stored

    def _take_block(self, value: Line) -> None:
        block = BlockRecord(**BLOCK.fields(value))
        self._order.line("block", block.ordinal)
        if closed := self._batch.closed:
            closed.blocks.append(checked(block))

    def _take_verdict(self, value: Line) -> None:
        policy = value["policy"]
        self._order.line("verdict", value["number"])
        version_id = _NO_POLICY if policy is None else self._version(policy)
        self._batch.verdicts.append(checked(VerdictRecord(policy_version_id=version_id, **VERDICT.fields(value))))

    def _take_chunk(self, value: Line) -> None:
        raws = [bytes_from_line(value["raw"])] if "raw" in value else []
        sizes = [] if raws else [value["length"]]
        entry = checked(ChunksReceived(self._batch.stream_id, value["seq"], value["received_at"], raws, sizes))
        require_natural(entry.first, *sizes)
        self._order.line("chunk", entry.first)
        self._batch.add(entry)

    def _take_frame(self, value: Line) -> None:
        seq = value.get("seq")
        made = [] if seq is not None else [(value["origin"], bytes_from_line(value["raw"]))]
        entry = checked(FramesSent(self._batch.stream_id, value["number"], value["sent_at"], [seq], made))
        require_natural(entry.first, seq or 0)
        self._order.line("frame", entry.first)
        self._batch.add(entry)

    def _version(self, value: Line) -> int:
        """The id here of an exported policy version; the version is created if it does not exist."""
        name, number = f"{PREFIX}{value['name'].removeprefix(PREFIX)}"[:60], value["number"]
        names = {field.name for field in PolicyFields._meta.local_fields}
        fields = {key: each for key, each in value.items() if key in names}
        told = name, number, encode(fields)
        if told not in self._versions:
            validate_slug(name)
            if number > _MOST_VERSION:
                raise ValueError(f"its policy has the version {number}")
            fields["parameters"] = _parameters(fields)
            version = PolicyVersion(number=number, **fields)
            version.clean_fields(exclude=["policy", "changed_by"])
            self._versions[told] = _version_of(name, version).pk
        return self._versions[told]

    def _store_stream(self) -> None:
        batch, self._stored = self._stored, None
        if batch is None or batch.opened is None or self._session is None:
            return
        self.streams += 1
        self.bare += not batch.chunks and batch.closed is not None and batch.closed.chunk_count > 0
        with held_off():  # retention would not see an old stream's star until this is done
            if not Stream.objects.filter(pk=batch.stream_id).exists():
                self._store.write([batch], brings_back=True)
            # Even if the stream already existed: an import that was killed may have got no further.
            self._keep_annotation(batch.stream_id)
            _merge(self._session)

    def _keep_annotation(self, stream_id: UUID) -> None:
        """Add the annotation unless the stream has one, even an empty one, which is left when people clear it."""
        if kept := self._annotation:
            told = {"is_starred": kept.is_starred, "note": clean(kept.note), "labels": [*map(clean_name, kept.labels)]}
            Annotation.objects.get_or_create(stream_id=stream_id, defaults=told)


@transaction.atomic
def _version_of(name: str, told: PolicyVersion) -> PolicyVersion:
    """A version of an imported policy; both are created if they do not exist. If another version here has its number,
    made here or imported from elsewhere, it gets a new number."""
    # Not with `save`, which would make another version; another import may make the same policy at the same time.
    off = told.fields() | {"mode": Mode.OFF.value}
    Policy.objects.bulk_create([Policy(name=name, version=told.number, **off)], ignore_conflicts=True)
    policy = Policy.objects.select_for_update().get(name=name)
    elsewhere = f"It was v{told.number} where it was imported from."
    alike = policy.versions.filter(Q(number=told.number) | Q(reason=elsewhere), **told.fields()).first()
    if alike is not None:
        return alike
    if policy.versions.filter(number=told.number).exists():
        told.number, told.reason = policy.versions.latest("number").number + 1, elsewhere
    told.policy = policy
    told.save()
    # A policy that somebody here has switched on stays as it is.
    Policy.objects.filter(pk=policy.pk, version__lt=told.number, mode=Mode.OFF.value).update(version=told.number)
    return told


def _merge(told: SessionLine) -> None:
    """Add the star, and the note if the session has none. If its streams continue those of another session, they belong
    to that by now, and this one may be gone."""
    session = Session.objects.filter(pk=told.id)
    if told.is_starred:
        session.filter(is_starred=False).update(is_starred=True)
    if told.note:
        session.filter(note="").update(note=clean(told.note))


@contextmanager
def _faults_at(number: int) -> Iterator[None]:
    try:
        yield
    except _FAULTS as error:
        why = (str(error) if isinstance(error, ValueError) else repr(error))[:_QUOTED]
        raise NotAnExport(f"Line {number}, or the stream before it, is not valid in an export: {why}") from error


def _parameters(fields: dict[str, Any]) -> JsonObject:
    """A policy's parameters if the policy can be built from them, because pages show what they mean; otherwise none."""
    told: JsonObject = fields["parameters"]
    if fields["kind"] == OWN_CODE:
        return {}  # a file must not decide what code runs here
    try:
        policies.build(fields["kind"], told)
    except PolicyParametersError:
        return {}
    return told


def _checked_version(what: str, value: Line) -> int:
    version = value.get("version")
    if what != "streamviz" or not isinstance(version, int) or not 1 <= version <= VERSION:
        raise ValueError(f"not an export that this version can read (versions 1 to {VERSION})")
    return version


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The non-empty lines of a file; one that is too long, or begins as none of an export does and is long, comes in
    pieces, none of which is a line of an export."""
    while line := file.readline(_READ_AT_ONCE):
        if line.startswith(_BEGINNING) and not line.endswith(b"\n"):
            line += file.readline(LONGEST_LINE - len(line))
        if line.strip():
            yield line
