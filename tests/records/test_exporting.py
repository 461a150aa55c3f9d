"""Sessions as JSONL, exported from one installation and imported into another."""

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from msgspec.structs import replace

from streamviz.core.context import Frame
from streamviz.records.block_record import BlockRecord
from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.exporting import BYTES_TOGETHER, DeletedMeanwhile, by_turns, export, export_streams, whole
from streamviz.records.importing import Importing, NotAnExport
from streamviz.records.models import Annotation, ApiKey, Block, ClientRun, Policy, Session, Stream, UpstreamRun, Verdict
from streamviz.records.policies_in_force import policies_in_force
from streamviz.records.recorder import ChunksReceived, StreamClosed, StreamOpened
from streamviz.records.retention import run_retention
from streamviz.records.rules import Retention
from streamviz.records.verdict_record import VerdictRecord
from streamviz.records.verification import verify
from streamviz.records.writer.session_moves import move_stream
from streamviz.records.writer.store import Store
from tests.records.conftest import Query
from tests.records.filled import filled
from tests.records.history import NOW, day, id_at, make_policy, store, story, tool_stream
from tests.records.support import NOON, block, closed, judged, opened, passed, received, sent, verdict

NOT_RUN = {"policy": "guard", "version": 1, "mode": "enforce", "why": "It is for other models."}
ODD = [b"", b"\xff\xfe\n\n", "data: \u2028\U0001f9ea\n\n".encode()]
TABLES = {
    "session": "SELECT id, label, name, is_starred, note, started_at, last_at FROM records_session ORDER BY 1",
    "stream": "SELECT to_jsonb(s) - 'worker' - 'key_id' FROM records_stream s ORDER BY id",
    "annotation": "SELECT to_jsonb(a) FROM records_annotation a ORDER BY stream_id",
    "block": "SELECT to_jsonb(b) - 'id' FROM records_block b ORDER BY stream_id, ordinal",
    "verdict": "SELECT to_jsonb(v) - 'id' - 'policy_version_id' FROM records_verdict v ORDER BY stream_id, number",
    "chunk": "SELECT stream_id, seq, received_at, length, raw FROM records_chunk ORDER BY stream_id, seq",
    "frame": "SELECT stream_id, number, sent_at, seq, origin, made FROM records_frame ORDER BY stream_id, number",
}


def everything(query: Query) -> dict[str, list[tuple[object, ...]]]:
    return {name: query(statement) for name, statement in TABLES.items()}


def take(lines: list[bytes]) -> int:
    importing = Importing(postgres := Store(conninfo))
    try:
        importing.take(lines)
    finally:
        postgres.close()
    return importing.streams


def _with(line: bytes, what: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    """The line with another policy, if it is about `what`."""
    told = msgspec.json.decode(line)
    if what in told:
        told[what]["policy"] = change(told[what])
    return msgspec.json.encode(told)


@pytest.fixture
def version_id(query: Query) -> int:
    return make_policy()


@pytest.fixture
def session(query: Query) -> uuid.UUID:
    """A session with a denied stream, one with odd bytes and one of which only shapes are stored."""
    shapes = id_at(day(1), 5)
    named = {"session_id": uuid.uuid5(uuid.NAMESPACE_URL, "nightly"), "session_label": "nightly", "session_name": "n"}
    store(
        story(day(2), session="nightly", denied=make_policy()),
        story(day(1), [*ODD, *tool_stream()], session="nightly"),
        (shapes, [opened(shapes, **named), ChunksReceived(shapes, 0, NOON, [], [7, 9]), closed(shapes)]),
    )
    Session.objects.update(is_starred=True, note="Look at this.")
    Annotation.objects.create(stream_id=shapes, is_starred=True, note="And at this.", labels=["flaky"])
    return Session.objects.get().pk


def test_what_is_exported_and_imported_is_as_it_was(query: Query, session: uuid.UUID) -> None:
    before = everything(query)
    lines = list(export([session]))
    delete_session(session)
    assert take(lines) == 3
    assert everything(query) == before
    assert [damage.what for found in verify() for damage in found if damage.stream_id != id_at(day(1), 5)] == []


def test_importing_twice_changes_nothing(query: Query, session: uuid.UUID) -> None:
    lines = list(export([session]))
    delete_session(session)
    take(lines)
    before = everything(query), query("SELECT count(*) FROM records_policyversion")
    take(lines)
    assert (everything(query), query("SELECT count(*) FROM records_policyversion")) == before


def test_importing_what_is_here_changes_nothing(query: Query, session: uuid.UUID) -> None:
    before = everything(query)
    take(list(export([session])))
    assert everything(query) == before


def test_a_file_adds_nothing_to_a_stream_that_is_here_and_changes_nothing_of_it(
    query: Query, session: uuid.UUID
) -> None:
    before = everything(query)
    more = {
        b'{"stream":': (b'"outcome":"completed"', b'"outcome":"halted"'),
        b'{"block":': (b'"ordinal":', b'"ordinal":9'),
        b'{"verdict":': (b'"number":', b'"number":9'),
        b'{"annotation":': (b"flaky", b"theirs"),
    }
    lines: list[bytes] = []
    chunks: list[bytes] = []
    for line in export([session]):
        if line.startswith(b'{"chunk":'):
            chunks.append(line.replace(b'"seq":', b'"seq":9', 1))
        else:
            lines, chunks = lines + chunks, []
        old, new = next((changed for begins, changed in more.items() if line.startswith(begins)), (b"", b""))
        lines.append(line.replace(old, new, 1) if old else line)
    assert len(lines) > len(list(export([session])))
    take(lines)
    assert everything(query) == before


def test_a_stream_of_days_to_come_is_refused_and_makes_no_partition(query: Query, session: uuid.UUID) -> None:
    before = query("SELECT count(*) FROM pg_class")
    mine, theirs = str(id_at(day(2))), str(id_at(datetime(2097, 5, 1, tzinfo=UTC)))
    lines = [line.replace(mine.encode(), theirs.encode()) for line in export([session])]
    assert lines != list(export([session]))
    with pytest.raises(NotAnExport, match="dated in the future"):
        take(lines)
    assert query("SELECT count(*) FROM pg_class") == before


def test_policies_from_elsewhere_judge_nothing_here(query: Query, session: uuid.UUID) -> None:
    lines = list(export([session]))
    delete_session(session)
    take(lines)
    imported = Policy.objects.get(name="imported-guard")
    assert imported.mode == "off"
    assert imported.versions.get().mode == "enforce"
    assert "imported-guard" not in {policy.name for policy in policies_in_force()}
    assert query("SELECT policy_version_id FROM records_verdict") == [(imported.versions.get().pk,)]
    # Exported again, it keeps its name.
    lines = list(export([session]))
    delete_session(session)
    take(lines)
    assert query("SELECT policy_version_id FROM records_verdict") == [(imported.versions.get().pk,)]


def test_a_verdict_whose_policy_is_not_on_record_goes_along(query: Query, session: uuid.UUID) -> None:
    Verdict.objects.update(policy_version_id=999_999)
    before = everything(query)
    lines = list(export([session]))
    delete_session(session)
    take(lines)
    assert everything(query) == before
    assert not Policy.objects.filter(name__startswith="imported-").exists()
    assert list(export([session])) == lines


def test_a_policy_from_elsewhere_is_at_its_newest_version(session: uuid.UUID) -> None:
    lines = list(export([session]))
    take(lines)
    other = uuid.uuid4()
    newer = [line.replace(b'"number":1,', b'"number":2,', 1) if b'"policy":' in line else line for line in lines]
    take([line.replace(str(session).encode(), str(other).encode()) for line in newer])
    imported = Policy.objects.get(name="imported-guard")
    newest = imported.versions.first()
    assert newest is not None
    assert (imported.version, newest.number) == (2, 2)


def test_to_switch_an_imported_policy_on_is_a_change_with_a_reason(session: uuid.UUID) -> None:
    take(list(export([session])))
    imported = Policy.objects.get(name="imported-guard")
    imported.mode = "enforce"
    operator = User.objects.create_user("operator")
    with pytest.raises(ValidationError, match="Give a reason"):
        imported.save(by=operator)
    imported.save(by=operator, reason="It is ours too.")
    newest = imported.versions.first()
    assert newest is not None
    assert (newest.number, newest.mode, newest.changed_by) == (2, "enforce", operator)


def test_code_that_was_imported_is_enabled_by_an_administrator_only(session: uuid.UUID) -> None:
    def as_code(verdict: dict[str, Any]) -> dict[str, Any]:
        return verdict["policy"] | {"kind": "python", "parameters": {"path": "some.module.Guard"}}

    take([_with(line, "verdict", as_code) for line in export([session])])
    imported = Policy.objects.get(name="imported-guard")
    imported.mode = "enforce"
    with pytest.raises(ValidationError, match="Only an administrator"):
        imported.save(by=User.objects.create_user("operator"), reason="It is ours too.")


def test_an_imported_policy_that_was_switched_on_here_stays_as_it_was_wanted(session: uuid.UUID) -> None:
    lines = list(export([session]))
    take(lines)
    imported = Policy.objects.get(name="imported-guard")
    imported.mode = "enforce"
    imported.save()
    other = str(uuid.uuid4()).encode()
    newer = [line.replace(b'"number":1,', b'"number":9,', 1) if b'"policy":' in line else line for line in lines]
    newer = [line.replace(b'"order":100', b'"order":7', 1) for line in newer]
    ids = {line["stream"]["id"] for line in map(msgspec.json.decode, lines) if "stream" in line}
    moved = b"".join(newer).replace(str(session).encode(), other)
    for number, each in enumerate(ids):
        moved = moved.replace(each.encode(), str(id_at(day(1), 100 + number)).encode())
    take(moved.splitlines(keepends=True))
    [policy] = [policy for policy in policies_in_force() if policy.name == "imported-guard"]
    assert policy.version == Policy.objects.get(name="imported-guard").version == imported.version == 2
    # Changing it to what the newer file has, starting from the current version, is a change as well.
    imported.order = 7
    imported.save(seen=2)
    assert imported.version == 10
    assert [policy.version for policy in policies_in_force() if policy.name == "imported-guard"] == [10]


def test_parameters_of_which_no_policy_can_be_made_are_not_kept(query: Query, session: uuid.UUID) -> None:
    lines = list(export([session]))
    delete_session(session)
    take([_with(line, "verdict", lambda verdict: verdict["policy"] | {"parameters": {"names": 5}}) for line in lines])
    assert Policy.objects.get(name="imported-guard").parameters == {}


def test_each_line_is_an_object_that_says_what_it_is(session: uuid.UUID) -> None:
    lines = [msgspec.json.decode(line) for line in export([session])]
    kinds = [next(iter(line)) for line in lines]
    assert kinds[:3] == ["streamviz", "session", "stream"]
    assert {kind: kinds.count(kind) for kind in sorted(set(kinds))} == {
        "block": 2,
        "chunk": 15,
        "end": 1,
        "frame": 9,
        "session": 1,
        "stream": 3,
        "streamviz": 1,
        "verdict": 1,
    }
    raws = [line["chunk"].get("raw") for line in lines if "chunk" in line]
    assert {"base64": "//4KCg=="} in raws
    assert tool_stream()[0].decode() in raws


def test_a_session_that_was_deleted_meanwhile_is_left_out(query: Query, session: uuid.UUID) -> None:
    alone = list(export([session]))
    store(story(day(1), session="gone", number=9))
    lines = export([session, Session.objects.get(label="gone").pk])
    first = next(lines)
    delete_session(Session.objects.get(label="gone").pk)
    assert [first, *lines] == alone


def test_a_file_has_no_end_where_a_session_became_a_part_of_another(query: Query, session: uuid.UUID) -> None:
    [stream_id] = store(story(day(1), session="moves", number=9))
    moves = Session.objects.get(label="moves").pk
    lines = export([session, moves])
    assert next(lines)
    list(zip(range(5), lines, strict=False))
    with psycopg.connect(conninfo()) as writer:
        move_stream(writer.cursor(), stream_id, moves, session)
    with pytest.raises(DeletedMeanwhile, match="was moved or dropped"):
        list(lines)


@pytest.mark.parametrize("by", ["session", "stream"])
def test_a_file_has_no_end_where_a_stream_was_deleted_while_it_was_written(
    query: Query, session: uuid.UUID, by: str
) -> None:
    streams = Stream.objects.select_related("session", "key").order_by("requested_at")
    lines = export([session]) if by == "session" else export_streams(streams)
    written = [next(line for line in lines if line.startswith(b'{"stream":'))]
    delete_session(session)
    with pytest.raises(DeletedMeanwhile, match="was deleted while"):
        written.extend(lines)
    assert not any(line.startswith(b'{"end":') for line in written)


def test_a_file_has_no_end_where_chunks_were_dropped_while_it_was_written(query: Query) -> None:
    store(story(day(1)))
    lines = export_streams(Stream.objects.select_related("session", "key"))
    written = [next(line for line in lines if line.startswith(b'{"chunk":'))]
    run_retention(Retention(chunk_days=14, stream_days=0, kept_days=0), NOW + timedelta(days=20), lambda _: None)
    with pytest.raises(DeletedMeanwhile, match="chunks of the stream"):
        written.extend(lines)
    # Streams without stored chunks are exported as they are.
    assert any(line.startswith(b'{"end":') for line in export_streams(Stream.objects.select_related("session", "key")))


def test_to_know_that_a_stream_is_whole_takes_a_question_before_and_one_behind_it(
    query: Query, django_assert_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    store(story(day(1)), story(day(1), number=1))
    streams = list(Stream.objects.all())
    with django_assert_num_queries(4):
        assert list(whole(streams)) == streams


def test_short_streams_are_read_together_and_a_long_one_by_itself(
    query: Query, django_assert_max_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    version_id = make_policy()
    ids = store(*(story(day(1), session="one", number=n, denied=version_id) for n in range(8)))
    Annotation.objects.create(stream_id=ids[2], note="look here")
    long = b'{"text": "' + b"x" * BYTES_TOGETHER + b'"}'
    [long_id] = store(story(day(1), session="one", number=8, request=long))
    with django_assert_max_num_queries(40):
        lines = list(export([Session.objects.get().pk]))
    assert lines == [lines[0], lines[1], *(line for each in (*ids, long_id) for line in alone(each)), lines[-1]]
    with django_assert_max_num_queries(30):
        assert [stream.is_read for stream in by_turns([*ids, long_id])] == [True] * 8 + [False]


def test_streams_of_which_one_tape_is_empty_are_read_with_others(query: Query) -> None:
    """Of a refused request there is only what its client was told; a client that had left was told nothing."""
    refused, left = id_at(day(1), 1), id_at(day(1), 2)
    no = sent(refused, [Frame(b"no", None, "streamviz")])
    told = [opened(refused), no, closed(refused, chunk_count=0, frame_count=1)]
    unheard = [opened(left), received(left, tool_stream()), closed(left, chunk_count=5, frame_count=0)]
    ids = store((refused, told), (left, unheard))
    assert [stream.is_read for stream in by_turns(ids)] == [True, True]


def alone(stream_id: uuid.UUID) -> list[bytes]:
    """The lines of a single stream."""
    return list(export_streams(Stream.objects.filter(pk=stream_id).select_related("session", "key")))[2:-1]


NOT_EXPORTS = {
    "no JSON": [b"nonsense\n"],
    "another version": [b'{"streamviz":{"version":99}}\n'],
    "no beginning": [b'{"session":{"id":"x"}}\n'],
    "an unknown line": [b'{"streamviz":{"version":1}}\n', b'{"surprise":{}}\n'],
    "a stream of no session": [b'{"streamviz":{"version":1}}\n', b'{"stream":{"id":"x"}}\n'],
    "a chunk of no stream": [b'{"streamviz":{"version":1}}\n', b'{"chunk":{"seq":0,"received_at":1,"raw":""}}\n'],
    "a line without end": [b'{"streamviz":{"version":1}}\n', b'{"session":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001],
    "two things in a line": [b'{"streamviz":{"version":1},"session":{}}\n'],
}


@pytest.mark.parametrize("lines", NOT_EXPORTS.values(), ids=NOT_EXPORTS)
def test_what_is_no_export_is_refused(query: Query, lines: list[bytes]) -> None:
    with pytest.raises(NotAnExport, match=f"Line {len(lines)},"):
        take(lines)
    assert query("SELECT count(*) FROM records_stream") == [(0,)]


def deep(levels: int) -> dict[str, Any]:
    """An object inside `levels` others."""
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


GUARD = {"name": "guard", "number": 1, "kind": "tool_rule", "mode": "enforce", "order": 0, "parameters": {}}
STREAM_FAULTS: dict[str, tuple[str, dict[str, object]]] = {
    "a time that is none": ("stream", {"requested_at": "soon"}),
    "a time beyond all calendars": ("stream", {"requested_at": 10**30}),
    "a status that is none": ("stream", {"status": 10**6}),
    "no model": ("stream", {"requested_model": None}),
    "text for a number": ("block", {"ordinal": "first"}),
    "a length below none": ("block", {"length": -1}),
    "a chunk that is no text": ("chunk", {"raw": 7}),
    "a chunk that is no base64": ("chunk", {"raw": {"base64": "?"}}),
    "a chunk at no place": ("chunk", {"seq": None}),
    "a chunk before the first": ("chunk", {"seq": -1}),
    "a frame before the first": ("frame", {"number": -1}),
    "a frame that is a chunk before the first": ("frame", {"seq": -1}),
    "a chunk of another century": ("chunk", {"received_at": 10**25}),
    "a frame that nobody made": ("frame", {"seq": None}),
    "a decision that there is not": ("verdict", {"decision": "x" * 50}),
    "a decision of no kind": ("verdict", {"decision": "zzz"}),
    "a subject of no kind": ("verdict", {"subject": "zzz"}),
    "a mode of no kind": ("verdict", {"mode": "zzz"}),
    "a block of no kind": ("block", {"kind": "zzz"}),
    "an end of no kind": ("stream", {"outcome": "zzz"}),
    "no end": ("stream", {"outcome": ""}),
    "a wire format of no kind": ("stream", {"wire_format": "zzz"}),
    "a relation of no kind": ("stream", {"relation": "zzz"}),
    "policies that did not run, in no words": ("stream", {"not_run": [{}]}),
    "a time before all others": ("stream", {"requested_at": -62135596800000000}),
    "a time behind all others": ("stream", {"ended_at": 253402300799999999}),
    "a block from before there were any": ("block", {"started_at": 0}),
    "a policy whose name no address takes": ("verdict", {"policy": GUARD | {"name": "a/b c"}}),
    "a policy of parameters without end": ("verdict", {"policy": GUARD | {"parameters": deep(900)}}),
    "a policy of a kind that there is not": ("verdict", {"policy": {"name": "p", "number": 1, "kind": "nonsense"}}),
    "a policy that is none": ("verdict", {"policy": "p"}),
    "a session that is none": ("session", {"id": "x"}),
    "a star that is none": ("session", {"is_starred": "perhaps"}),
}


@pytest.mark.parametrize(("what", "changes"), STREAM_FAULTS.values(), ids=STREAM_FAULTS)
def test_a_damaged_value_is_refused_and_nothing_of_its_stream_is_stored(
    query: Query, what: str, changes: dict[str, object]
) -> None:
    store(story(day(1), session="nightly", denied=make_policy()))
    [(session,)] = query("SELECT id FROM records_session")
    lines = list(export([session]))
    delete_session(session)
    place = next(n for n, line in enumerate(lines) if what in msgspec.json.decode(line))
    fields = msgspec.json.decode(lines[place])[what]
    lines[place] = msgspec.json.encode({what: fields | changes})
    with pytest.raises(NotAnExport):
        take(lines)
    for table in ("stream", "block", "verdict", "upstreamrun", "clientrun"):
        assert query(f"SELECT count(*) FROM records_{table}") == [(0,)], table


def test_of_a_file_that_is_cut_short_the_whole_streams_are_stored(query: Query, session: uuid.UUID) -> None:
    before = everything(query)["chunk"]
    whole = b"".join(export([session]))
    delete_session(session)
    with pytest.raises(NotAnExport):
        take(whole[:-20].splitlines(keepends=True))
    stored = query("SELECT count(*) FROM records_stream WHERE outcome <> ''")
    assert stored == [(2,)]
    assert take(whole.splitlines(keepends=True)) == 3
    assert everything(query)["chunk"] == before


@pytest.mark.slow
def test_cut_off_between_any_two_lines_it_stores_whole_streams_and_the_rest_at_the_next_attempt(
    query: Query, session: uuid.UUID
) -> None:
    before = everything(query)
    lines = list(export([session]))
    for cut in range(2, len(lines), 3):
        delete_session(session)
        with pytest.raises(NotAnExport, match=f"cut off after line {cut}"):
            take(lines[:cut])
        kept = {row[0]["id"]: row[0] for row in query(TABLES["stream"])}
        whole = {row[0]["id"]: row[0] for row in before["stream"]}
        assert kept == {stream_id: whole[stream_id] for stream_id in kept}
        assert take(lines) == 3
        assert everything(query) == before


def test_an_export_of_before_there_was_an_end_is_taken(query: Query, session: uuid.UUID) -> None:
    before = everything(query)
    first, *lines, _ = export([session])
    delete_session(session)
    assert take([first.replace(b'"version":2', b'"version":1'), *lines]) == 3
    assert everything(query) == before


def is_filled(value: object) -> bool:
    return value not in (None, "", 0, False) and value != [] and value != {}


def test_every_column_is_exported_and_imported(query: Query, version_id: int) -> None:
    key, _ = ApiKey.objects.issue(name="ours")
    stream_id = id_at(NOW)
    # These fields have a fixed set of values.
    words = {"wire_format": "gemini", "relation": "fork", "not_run": [NOT_RUN]}
    head = filled(StreamOpened, stream_id=stream_id, session_id=id_at(NOW, 1), key_id=key.pk, **words)
    raws = [b"\xff", b"text"]
    judged_as = {"mode": "shadow", "decision": "halt", "subject": "stream"}
    given = filled(VerdictRecord, number=0, policy_version_id=version_id, **judged_as)
    blocks = [block(0), filled(BlockRecord, ordinal=1, kind="refusal")]
    end = filled(StreamClosed, stream_id=stream_id, outcome="interrupted", blocks=blocks)
    frames = sent(stream_id, [*passed([0]), Frame(b"made", None, "guard")])
    # These come so much later that they begin new runs.
    later = replace(received(stream_id, [b"later"], 2), received_at=NOON + 3600 * 10**6)
    last = replace(sent(stream_id, passed([2]), 2), sent_at=NOON + 3600 * 10**6)
    judgement = judged(stream_id, given, verdict(version_id, number=1))
    store((stream_id, [head, received(stream_id, raws), judgement, frames, later, last, end]))
    Session.objects.update(is_starred=True, note="Look.", label="named")
    for model in (Session, Stream, Block, Verdict, UpstreamRun, ClientRun):
        rows: list[dict[str, Any]] = list(model.objects.values())
        for field in model._meta.concrete_fields:
            assert any(is_filled(row[field.attname]) for row in rows), f"{model.__name__}.{field.name} is not filled"
    tables = {
        **TABLES,
        "key": "SELECT key_id FROM records_stream UNION ALL SELECT key_id FROM records_session",
        "session": "SELECT to_jsonb(s) FROM records_session s",
    }
    before = {name: query(statement) for name, statement in tables.items()}
    [session] = Session.objects.values_list("pk", flat=True)
    lines = list(export([session]))
    delete_session(session)
    take(lines)
    assert {name: query(statement) for name, statement in tables.items()} == before
    assert list(export([session])) == [line.replace(b'"name":"guard"', b'"name":"imported-guard"') for line in lines]


def test_a_stream_comes_back_to_a_day_that_was_dropped(query: Query, session: uuid.UUID) -> None:
    before = everything(query)
    lines = list(export([session]))
    delete_session(session)
    other = id_at(day(1), 99)
    # Another stream of one of the days was not deleted.
    store((other, [opened(other), ChunksReceived(other, 0, NOON, [b"x"]), closed(other, chunk_count=1)]))
    [(child,)] = query("SELECT tableoid::regclass::text FROM records_upstreamrun WHERE stream_id = %s", other)
    query(f"ALTER TABLE records_upstreamrun DETACH PARTITION {child}")
    query(f"INSERT INTO records_upstreamrun SELECT * FROM {child}")
    query(f"DROP TABLE {child}")
    assert take(lines) == 3
    assert query("SELECT count(*) FROM records_upstreamrun_default") == [(0,)]
    delete_session(query("SELECT session_id FROM records_stream WHERE id = %s", other)[0][0])
    assert everything(query) == before


def test_a_file_says_nothing_of_the_code_that_runs_here(query: Query, session: uuid.UUID) -> None:
    lines = list(export([session]))
    delete_session(session)
    place = next(n for n, line in enumerate(lines) if b'{"verdict"' in line)
    verdict = msgspec.json.decode(lines[place])
    verdict["verdict"]["policy"] |= {"kind": "python", "parameters": {"path": "os.system"}}
    lines[place] = msgspec.json.encode(verdict)
    take(lines)
    imported = Policy.objects.get(name="imported-guard")
    assert (imported.kind, imported.parameters, imported.mode) == ("python", {}, "off")
    assert imported.versions.get().parameters == {}


def test_the_commands_export_and_import_sessions(query: Query, session: uuid.UUID, tmp_path: Path) -> None:
    file, said = tmp_path / "export.jsonl", StringIO()
    call_command("export", session, output=str(file))
    before = everything(query)
    delete_session(session)
    call_command("import", str(file), stdout=said)
    assert said.getvalue() == "3 streams\n"
    assert everything(query) == before
    call_command("export", days=10_000.0, stdout=(out := StringIO()))
    assert out.getvalue() == file.read_text().replace('"name":"guard"', '"name":"imported-guard"')


def test_the_command_says_what_there_is_not(query: Query) -> None:
    with pytest.raises(CommandError, match="No such session"):
        call_command("export", uuid.uuid4())
    with pytest.raises(CommandError, match="Name sessions by their ids"):
        call_command("export")
