"""Correct, as streams are stored, which session they belong to and which stream they continue.

A worker knows only its own newest streams. Marks that a request looked for without success are looked up here among all
stored streams, and marks that a stream leaves are matched with requests stored earlier that look for them. If a session
turns out to be part of another, its streams move there; if a match might have been with a stranger's stream, they move
to a session of their own. Workers are notified on the channel `streamviz_moved`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from streamviz.core.events import BlockKind
from streamviz.records.columns import as_array
from streamviz.records.ids import around, day_before, uuid7
from streamviz.records.links import FAILED, Asker, Candidate, Chosen, are_strangers, choose, parted
from streamviz.records.models.streams import Relation
from streamviz.records.moments import as_datetime, as_microseconds
from streamviz.records.writer.pending import Batch
from streamviz.records.writer.retries import FAILED_OUTCOMES, link_retries
from streamviz.records.writer.session_moves import move_stream

_LOCK = 7_241_006
_MOST = 2_000
# The longest pause in a conversation. Very many streams may have the same answer: this bounds how many are read, and
# limits the search to the partitions whose ids are of these days.
_LONGEST_REST = timedelta(days=30)

# Held until the transaction ends, so that only one transaction links at a time: otherwise, of two streams that belong
# together, neither would find the other.
_ALONE = "SELECT pg_advisory_xact_lock(%s)"
# No request can look for an answer that was requested later than itself.
_WAITING = """
SELECT id FROM records_stream
WHERE asked && %(left)s::bigint[] AND NOT (asked = '{}') AND requested_at >= %(since)s AND id >= %(first)s
ORDER BY requested_at LIMIT %(most)s
"""
_ASKING = """
SELECT id, session_id, client, user_agent, requested_at, asked, parent, relation, is_named FROM records_stream
WHERE id = ANY(%s) ORDER BY requested_at, id
"""
# When the attempt at a turn that did not fail was requested, which may be a later one than the turn itself; NULL if all
# of them failed. With UNION it also ends where imported streams are retries of each other.
_SUCCEEDED_AT = """(
    WITH RECURSIVE attempt AS (
        SELECT turn.id, turn.outcome, turn.requested_at
        UNION
        SELECT again.id, again.outcome, again.requested_at
        FROM attempt JOIN records_stream AS again ON again.parent = attempt.id
        WHERE again.id >= %(first)s AND again.relation = 'retry' AND attempt.outcome = ANY(%(failed)s)
    )
    SELECT min(requested_at) FROM attempt WHERE outcome <> ALL(%(failed)s)
)"""
_FOUND = f"""
SELECT id, session_id, client, user_agent, requested_at, marks AS asked, outcome, (
    SELECT min({_SUCCEEDED_AT}) FROM records_stream AS turn
    WHERE turn.parent = stream.id AND turn.id >= %(first)s AND turn.relation = 'turn'
) AS turned_at, EXISTS (
    SELECT FROM records_stream AS next
    WHERE next.parent = stream.id AND next.id >= %(first)s AND next.relation = 'retry'
    AND next.outcome <> ALL(%(failed)s)
) AS is_retried
FROM records_stream AS stream
WHERE marks && %(asked)s::bigint[] AND NOT (marks = '{{}}') AND requested_at BETWEEN %(since)s AND %(until)s
AND id BETWEEN %(first)s AND %(last)s
ORDER BY requested_at DESC LIMIT %(most)s
"""  # noqa: S608
_ELSEWHERE = """
SELECT stream.id, stream.session_id, parent.session_id
FROM records_stream AS stream JOIN records_stream AS parent ON parent.id = stream.parent
WHERE stream.id = ANY(%s) AND parent.id = ANY(%s) AND NOT stream.is_named AND parent.session_id <> stream.session_id
ORDER BY stream.requested_at, stream.id
"""
_LINK = "UPDATE records_stream SET parent = %s, relation = %s, asked = %s WHERE id = %s"
# For sub-agents that say they are one, and that no mark tells of: the caller is the latest earlier stream in the
# session that made a tool call.
_CALLERS = """
UPDATE records_stream AS stream SET parent = (
    SELECT caller.id FROM records_stream AS caller
    WHERE caller.session_id = stream.session_id AND caller.requested_at < stream.requested_at
    AND caller.id BETWEEN %(first)s AND %(last)s AND EXISTS (
        SELECT FROM records_block
        WHERE stream_id = caller.id AND stream_id BETWEEN %(first)s AND %(last)s AND kind = 'tool_call'
    )
    ORDER BY caller.requested_at DESC LIMIT 1
) WHERE id = ANY(%(called)s) AND parent IS NULL
"""
# Sub-agents that were stored before the stream that called them, which may be on another machine.
_UNCALLED = """
SELECT id FROM records_stream
WHERE session_id = ANY(%(sessions)s) AND relation = 'subagent' AND parent IS NULL
AND requested_at >= %(since)s AND id >= %(first)s
ORDER BY requested_at LIMIT %(most)s
"""
# Of all streams that continue one answer the first is its next turn, the others are forks. They came after it, so
# earlier partitions are not read.
FORKS = f"""
UPDATE records_stream AS stream SET relation = CASE WHEN stream.id = next.id THEN 'turn' ELSE 'fork' END
FROM (
    SELECT DISTINCT ON (parent) parent, id FROM records_stream AS turn
    WHERE parent = ANY(%(parents)s) AND id >= %(first)s AND relation IN ('turn', 'fork')
    ORDER BY parent, {_SUCCEEDED_AT} IS NULL, requested_at, id
) AS next
WHERE stream.parent = next.parent AND stream.id >= %(first)s AND stream.relation IN ('turn', 'fork')
AND (stream.relation = 'turn') <> (stream.id = next.id)
"""  # noqa: S608
_SESSION = "SELECT session_id FROM records_stream WHERE id = %s"
_SESSIONS = "SELECT id, session_id FROM records_stream WHERE id = ANY(%s)"


@dataclass(slots=True)
class _Row:
    """A stream that looks for a parent, or that left marks. `asked` has the marks that it looks for, or those that it
    left; `turned_at` is when its next turn was requested."""

    id: UUID
    session_id: UUID
    client: str
    user_agent: str
    requested_at: datetime
    asked: list[int]
    parent: UUID | None = None
    relation: str = ""
    is_named: bool = False
    outcome: str = ""
    turned_at: datetime | None = None
    is_retried: bool = False

    def as_candidate(self, at: datetime) -> Candidate:
        """The stream as `choose` sees it, as of `at`, because streams are not stored in the order of their requests.
        One without an outcome counts as failed: nobody repeats a request whose answer is still coming."""
        told = (self.id, self.session_id, as_microseconds(self.requested_at), self.client, self.user_agent)
        turns = int(self.turned_at is not None and self.turned_at < at)
        return Candidate(*told, turns, self.is_retried, not self.outcome or self.outcome in FAILED)


def link(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Link what was just stored, in the same transaction."""
    opened = [batch.opened for batch in batches if batch.opened]
    asking = {entry.stream_id for entry in opened if entry.asked}
    left = [mark for batch in batches if batch.closed for mark in batch.closed.marks]
    following = {entry.stream_id: entry.parent for entry in opened if entry.parent is not None}
    called = [entry.stream_id for entry in opened if entry.parent is None and entry.relation]
    calling = [batch for batch in batches if _calls(batch)]
    if not (asking or left or following or called or calling):
        return
    cursor.execute(_ALONE, [_LOCK])
    if following:
        for stream, old, new in cursor.execute(_ELSEWHERE, [list(following), list(following.values())]).fetchall():
            move_stream(cursor, stream, old, new)
    if left:
        asking |= _waiting(cursor, left, [batch for batch in batches if batch.closed])
    parents = set(following.values())
    if asking:
        parents |= _link_all(cursor, asking)
    called += _uncalled(cursor, calling)
    if called:
        cursor.execute(_CALLERS, {"called": called, **around(called, _LONGEST_REST.days + 1)._asdict()})
    parents |= link_retries(cursor, batches, parents)
    if parents:
        first = day_before(min(parents))
        cursor.execute(FORKS, {"parents": list(parents), "first": first, "failed": FAILED_OUTCOMES})


def _calls(batch: Batch) -> bool:
    """Whether the batch has the end of a stream that made a tool call."""
    return batch.closed is not None and any(block.kind == BlockKind.TOOL_CALL for block in batch.closed.blocks)


def _uncalled(cursor: psycopg.Cursor, calling: Sequence[Batch]) -> list[UUID]:
    """Sub-agents that one of these streams may have called, and whose caller is unknown."""
    began = [batch.began for batch in calling if batch.began]
    if not began:
        return []
    told = {
        "sessions": as_array({each.session_id for each in began}),
        "since": as_datetime(min(each.requested_at for each in began)),
        "first": around([batch.stream_id for batch in calling]).first,
        "most": _MOST,
    }
    return [row[0] for row in cursor.execute(_UNCALLED, told)]


def _waiting(cursor: psycopg.Cursor, left: Sequence[int], ended: Sequence[Batch]) -> set[UUID]:
    """Streams that were stored before the marks that they look for."""
    since = as_datetime(min(batch.began.requested_at for batch in ended if batch.began))
    first = around([batch.stream_id for batch in ended]).first
    told = {"left": as_array(left), "since": since, "first": first, "most": _MOST}
    return {row[0] for row in cursor.execute(_WAITING, told)}


def _link_all(cursor: psycopg.Cursor, ids: Collection[UUID]) -> set[UUID]:
    """Find parents, or surer ones, and give the streams whose followers changed."""
    rows = cursor.connection.cursor(row_factory=class_row(_Row))
    asking = rows.execute(_ASKING, [as_array(ids)]).fetchall()
    marks = as_array({mark for row in asking for mark in row.asked})
    if not asking:
        return set()
    times = [row.requested_at for row in asking]
    wanted = {
        "asked": marks,
        "failed": FAILED_OUTCOMES,
        "most": _MOST,
        "until": max(times),
        "since": min(times) - _LONGEST_REST,
        **around(ids, _LONGEST_REST.days + 1)._asdict(),
    }
    found = {row.id: row for row in rows.execute(_FOUND, wanted).fetchall()}
    by_mark: dict[int, list[_Row]] = defaultdict(list)
    for row in found.values():
        for mark in row.asked:
            by_mark[mark].append(row)
    parents: set[UUID] = set()
    for row in asking:
        [(session_id,)] = cursor.execute(_SESSION, [row.id])
        told = (row.id, session_id if row.is_named else None, row.client, row.user_agent)
        asker = Asker(*told, is_other_agent=partial(_says_so, row))
        surer, doubtful = parted(row.asked)
        chosen = choose(asker, surer, partial(_earlier, by_mark, row))
        if chosen.parent is not None:
            new = chosen.parent.session
        elif doubtful and are_strangers(asker, doubtful, _earlier(by_mark, row, doubtful)):
            chosen, new = Chosen(None, "", [*surer, doubtful]), uuid7()
        else:
            continue
        parents |= _go_on(cursor, row, chosen, found)
        if session_id != new:
            move_stream(cursor, row.id, session_id, new, is_new=chosen.parent is None)
            sessions: dict[UUID, UUID] = dict(cursor.execute(_SESSIONS, [as_array(found)]).fetchall())
            for each in found.values():
                each.session_id = sessions.get(each.id, each.session_id)  # it may have been deleted meanwhile
    return parents


def _go_on(cursor: psycopg.Cursor, row: _Row, chosen: Chosen, found: Mapping[UUID, _Row]) -> set[UUID]:
    """Store which stream this one continues, and give the streams whose followers changed."""
    parent = chosen.parent.stream if chosen.parent else None
    cursor.execute(_LINK, [parent, chosen.relation, chosen.kept, row.id])
    if parent is not None:
        known = found[parent]
        if chosen.relation == Relation.TURN:
            known.turned_at = min(row.requested_at, known.turned_at or row.requested_at)
        known.is_retried |= chosen.relation == Relation.RETRY
    return {each for each in (parent, row.parent) if each}


def _says_so(row: _Row, _: Candidate) -> bool:
    """Whether a stream is another agent's than what it continues: its worker knew that, though not the answer."""
    return row.relation == Relation.SUBAGENT and row.parent is None


def _earlier(by_mark: Mapping[int, Sequence[_Row]], row: _Row, mark: int) -> Iterable[Candidate]:
    earlier = (each for each in by_mark.get(mark, ()) if each.requested_at <= row.requested_at)
    return (each.as_candidate(row.requested_at) for each in earlier)
