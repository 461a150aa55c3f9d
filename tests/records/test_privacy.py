"""What must not be stored reaches neither the journal nor Postgres."""

import uuid
from pathlib import Path

import pytest

from streamviz.core.context import Frame
from streamviz.records.journal import folder
from streamviz.records.privacy import PrivateRecorder
from streamviz.records.recorder import AnyEntry
from streamviz.records.rules import Privacy
from tests.records.conftest import Query
from tests.records.history import make_policy
from tests.records.support import block, closed, journal_of, judged, move, opened, passed, received, sent, verdict

SECRET = "the secret"
TABLES = ("session", "stream", "block", "verdict", "chunk", "frame")


def entries(stream_id: uuid.UUID, version_id: int, model: str) -> list[AnyEntry]:
    """A stream with a secret everywhere that a model or a user can put one."""
    raw = f"data: {SECRET}\n\n".encode()
    return [
        opened(
            stream_id,
            requested_model=model,
            session_id=uuid.uuid4(),
            session_label=SECRET,
            request=SECRET.encode(),
            request_headers={"x-stainless-lang": SECRET},
        ),
        received(stream_id, [raw, raw]),
        judged(stream_id, verdict(version_id, reason=SECRET, evidence={"found": SECRET})),
        sent(stream_id, [*passed([0]), Frame(raw, None, "guard")]),
        closed(
            stream_id,
            error=SECRET,
            blocks=[block(text=SECRET, length=len(SECRET), signature=SECRET, name="read_file")],
        ),
    ]


def record(tmp_path: Path, privacy: Privacy, model: str = "gpt", key_name: str = "ci") -> None:
    """Record such a stream, and move it to Postgres."""
    journal = journal_of(tmp_path, [])
    recorder = PrivateRecorder(journal, privacy, lambda _: key_name)
    for entry in entries(uuid.uuid4(), make_policy(), model):
        recorder.append(entry)
    recorder.flush()
    move(tmp_path)


def is_in_journal(tmp_path: Path) -> bool:
    return any(
        SECRET.encode() in folder.segment(journal, number).read_bytes()
        for journal in folder.journals(tmp_path)
        for number in folder.segments(journal)
    )


def places(query: Query) -> set[str]:
    """The tables and views that contain the secret."""
    found = set()
    for table in TABLES:
        rows = query(f"SELECT to_jsonb(r)::text FROM records_{table} r")
        if any(SECRET in text or SECRET.encode().hex() in text for (text,) in rows):
            found.add(table)
    return found


def test_everything_is_kept_unless_told_otherwise(query: Query, tmp_path: Path) -> None:
    record(tmp_path, Privacy())
    assert is_in_journal(tmp_path)
    assert places(query) == set(TABLES)


@pytest.mark.parametrize(
    "privacy",
    [Privacy(shapes_of_models=("gp?",)), Privacy(shapes_of_keys=("other", "c*"))],
    ids=["by model", "by key"],
)
def test_of_some_streams_only_shapes_and_times_are_kept(query: Query, tmp_path: Path, privacy: Privacy) -> None:
    record(tmp_path, privacy)
    assert not is_in_journal(tmp_path)
    assert places(query) == set()
    size = len(f"data: {SECRET}\n\n")
    assert query("SELECT seq, length, raw FROM records_chunk ORDER BY seq") == [(0, size, None), (1, size, None)]
    assert query("SELECT number, seq, origin, made FROM records_frame ORDER BY number") == [
        (0, 0, "upstream", None),
        (1, None, "guard", b""),
    ]
    assert query("SELECT kind, name, length, text FROM records_block") == [("content", "read_file", len(SECRET), "")]
    assert query("SELECT decision, reason FROM records_verdict") == [("deny", "")]
    assert query("SELECT outcome, status, error FROM records_stream") == [("completed", 200, "")]


def test_a_replay_is_kept_as_its_recording_would_be(query: Query, tmp_path: Path) -> None:
    recorder = PrivateRecorder(journal_of(tmp_path, []), Privacy(shapes_of_models=("guarded",)), lambda _: "")
    names = ("gpt-4o", "openai/gpt-4o", "guarded", "replay/019a")
    asked = {"requested_model": "replay/019a", "provider": "replay", "upstream_model": "gpt-4o"}
    for told in (names, names[:2]):
        recorder.append(opened(uuid.uuid4(), request=SECRET.encode(), other_names=told, **asked))
    recorder.flush()
    move(tmp_path)
    assert sorted(query("SELECT request FROM records_stream")) == [(b"",), (SECRET.encode(),)]


@pytest.mark.parametrize(
    "privacy", [Privacy(shapes_of_models=("claude-*",)), Privacy(shapes_of_keys=("nightly",))], ids=["model", "key"]
)
def test_streams_of_other_models_and_keys_are_kept(query: Query, tmp_path: Path, privacy: Privacy) -> None:
    record(tmp_path, privacy)
    assert places(query) == set(TABLES)


def test_requests_alone_can_be_left_out(query: Query, tmp_path: Path) -> None:
    record(tmp_path, Privacy(keeps_requests=False))
    assert query("SELECT request FROM records_stream") == [(b"",)]
    assert "chunk" in places(query)


def test_a_session_that_the_client_named_keeps_its_name_and_no_label(query: Query, tmp_path: Path) -> None:
    journal = journal_of(tmp_path, [])
    recorder = PrivateRecorder(journal, Privacy(shapes_of_models=("*",)), lambda _: "")
    named = uuid.uuid5(uuid.NAMESPACE_URL, "nightly")
    # It belongs to that session by what it repeats, and does not name it.
    recorder.append(opened(uuid.uuid4(), session_id=named, session_label="What the user wrote"))
    recorder.append(opened(uuid.uuid4(), session_id=named, session_name="nightly", is_named=True))
    recorder.append(opened(uuid.uuid4(), session_id=uuid.uuid4(), session_label="What the user wrote"))
    recorder.flush()
    move(tmp_path)
    assert set(query("SELECT label, name FROM records_session")) == {("", "nightly"), ("", "")}
