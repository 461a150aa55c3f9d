"""Entries of the journal as rows of the tables, in the order of their statements' columns."""

from uuid import UUID

from psycopg.types.json import Jsonb

from streamviz.core.json_value import decode
from streamviz.records.moments import as_datetime
from streamviz.records.recorder import BlockRecord, StreamClosed, StreamOpened, VerdictRecord

Row = tuple[object, ...]


# Names are in indexes, whose rows take 2,704 bytes: so many characters fit, whatever they are.
LONGEST_NAME = 500
LONGEST_PROVIDER = 100
MOST_INT = 2**31 - 1
_MOST_BIGINT = 2**63 - 1
_MOST_COST = 10**6


def clean(text: str) -> str:
    """Text as Postgres can keep it: U+FFFD for NUL, a question mark for half of a surrogate pair."""
    whole = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return whole.replace("\x00", "\ufffd")


def clean_name(text: str, most: int = LONGEST_NAME) -> str:
    """The same, cut where it is longer than `most` characters."""
    return clean(text if len(text) <= most else f"{text[: most - 1]}…")


def within(number: int | None, most: int = _MOST_BIGINT) -> int | None:
    """A number that somebody said; unknown where it is below 0 or more than its column takes."""
    return number if number is not None and 0 <= number <= most else None


def clean_json(value: object) -> object:
    """A JSON value whose text Postgres can keep."""
    match value:
        case str():
            return clean(value)
        case list():
            return [clean_json(item) for item in value]
        case dict():
            return {clean(str(key)): clean_json(item) for key, item in value.items()}
        case _:
            return value


def moment(microseconds: int | None) -> object:
    return None if microseconds is None else as_datetime(microseconds)


def session_row(entry: StreamOpened) -> Row:
    at = moment(entry.requested_at)
    return (entry.session_id, clean(entry.session_label), entry.key_id, at, at)


def opened_row(entry: StreamOpened, worker: UUID | None) -> Row:
    return (
        entry.stream_id,
        entry.session_id,
        entry.key_id,
        clean(entry.client),
        clean(entry.user_agent),
        entry.endpoint,
        entry.wire_format,
        entry.is_streaming,
        clean_name(entry.requested_model),
        clean_name(entry.upstream_model),
        clean_name(entry.provider, LONGEST_PROVIDER),
        moment(entry.requested_at),
        entry.request,
        worker,
        Jsonb(clean_json(entry.not_run)),
    )


def closed_row(entry: StreamClosed) -> Row:
    return (
        clean_name(entry.upstream_model),
        clean_name(entry.provider, LONGEST_PROVIDER),
        entry.outcome,
        clean(entry.finish_reason),
        entry.status,
        clean(entry.error),
        None if entry.usage is None else Jsonb(clean_json(decode(entry.usage))),
        within(entry.input_tokens),
        within(entry.output_tokens),
        entry.cost if entry.cost is not None and 0 <= entry.cost < _MOST_COST else None,
        entry.chunk_count,
        entry.frame_count,
        len(entry.blocks),
        moment(entry.upstream_first_at),
        moment(entry.client_first_at),
        moment(entry.ended_at),
        entry.itl_p50,
        entry.itl_p95,
        None if entry.client_waits is None else Jsonb(entry.client_waits),
        entry.stream_id,
    )


def block_row(stream_id: UUID, block: BlockRecord) -> Row:
    return (
        stream_id,
        block.ordinal,
        block.kind,
        within(block.choice, MOST_INT) or 0,
        within(block.index, MOST_INT),
        clean(block.upstream_id),
        clean_name(block.name),
        clean(block.label),
        clean(block.text),
        block.length,
        clean(block.signature),
        block.first_seq,
        block.last_seq,
        moment(block.started_at),
        moment(block.completed_at),
        moment(block.held_at),
        moment(block.released_at),
        [clean(policy) for policy in block.held_by],
        block.is_truncated,
    )


def verdict_row(stream_id: UUID, verdict: VerdictRecord) -> Row:
    return (
        stream_id,
        verdict.number,
        verdict.ordinal,
        verdict.policy_version_id,
        verdict.mode,
        verdict.decision,
        clean(verdict.reason),
        clean(verdict.failure),
        moment(verdict.at),
        verdict.took,
        verdict.subject,
        Jsonb(clean_json(verdict.evidence)),
        clean(verdict.by),
        verdict.client_had,
    )
