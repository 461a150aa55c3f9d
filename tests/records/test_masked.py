"""What a policy masks in an answer is not in the record."""

import uuid
from pathlib import Path

from streamviz.core.blocks import StreamBlock
from streamviz.core.context import Frame, StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import ActivePolicy, Reading, Tail
from streamviz.core.verdicts import Mode
from streamviz.policies.redact import Redact
from streamviz.records.masked import Masked
from streamviz.records.recorder import ChunksReceived
from tests.core.support import aggregate, delta
from tests.records.conftest import Query
from tests.records.support import block, closed, journal_of, move, opened, passed, received, sent

SECRET = "AKIAIOSFODNN7EXAMPLE"
RAWS = [b"data: 0\n\n", b"data: AKIAIOSF\n\n", b"data: ODNN7EXAMPLE\n\n", b"data: 3\n\n", b"data: 4\n\n"]
REDACT = ActivePolicy(Redact({}), "redact", 1, 1, Mode.ENFORCE)


class Failing(Redact):
    """Fails to say what it would mask."""

    def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
        raise ValueError("no")


def recorder_in(folder: Path, stream_id: uuid.UUID, policy: ActivePolicy = REDACT) -> Masked:
    state = aggregate(delta(content=f"The key is {SECRET}"), delta(finish="stop"))
    assert state.blocks[0].kind is BlockKind.CONTENT
    context = ChainContext(str(stream_id), lambda: 0, state=state)
    return Masked(journal_of(folder, [opened(stream_id)]), [policy], context)


def chunks(query: Query) -> list[tuple[int, int, bytes | None]]:
    return [tuple(row) for row in query("SELECT seq, length, raw FROM records_chunk ORDER BY seq")]


def test_chunks_that_the_client_did_not_get_as_they_came_are_kept_as_their_sizes(query: Query, tmp_path: Path) -> None:
    stream_id = uuid.uuid4()
    recorder = recorder_in(tmp_path, stream_id)
    recorder.append(received(stream_id, RAWS[:2]))
    recorder.append(sent(stream_id, passed([0])))
    recorder.append(received(stream_id, RAWS[2:], first=2))
    recorder.append(sent(stream_id, [Frame(b"[removed]", None, "redact"), *passed([3])], first=1))
    recorder.append(closed(stream_id, chunk_count=5, frame_count=3, blocks=[block(text=f"The key is {SECRET}")]))
    recorder.flush()
    move(tmp_path)
    assert chunks(query) == [
        (seq, len(raw), raw if seq in (0, 3) else None) for seq, raw in enumerate(RAWS)
    ]  # fmt: skip
    assert query("SELECT text FROM records_block") == [("The key is [api key removed]",)]


def test_what_an_answer_says_of_itself_is_not_kept_where_it_ended_the_stream(query: Query, tmp_path: Path) -> None:
    told = {"finish_reason": SECRET, "usage": b'{"note":"%b"}' % SECRET.encode()}
    for contradiction in ("", "policy redact forbids it"):
        stream_id = uuid.uuid4()
        recorder = recorder_in(tmp_path / (contradiction or "none"), stream_id)
        recorder._context.state.contradiction = contradiction
        recorder.append(closed(stream_id, blocks=[block(upstream_id=SECRET, name="ls")], **told))
        recorder.flush()
        move(tmp_path / (contradiction or "none"))
        found = query("SELECT finish_reason, usage FROM records_stream WHERE id = %s", stream_id)
        of_block = query("SELECT upstream_id, name FROM records_block WHERE stream_id = %s", stream_id)
        if contradiction:
            assert (found, of_block) == ([("[api key removed]", None)], [("[api key removed]", "ls")])
        else:
            assert (found, of_block) == ([(SECRET, {"note": SECRET})], [(SECRET, "ls")])


def test_nothing_is_on_disk_before_it_is_known(query: Query, tmp_path: Path) -> None:
    stream_id = uuid.uuid4()
    recorder = recorder_in(tmp_path, stream_id)
    recorder.append(received(stream_id, RAWS))
    recorder.flush()
    move(tmp_path)
    assert chunks(query) == []
    recorder.append(sent(stream_id, passed([0])))
    recorder.flush()
    move(tmp_path)
    assert chunks(query) == [(0, len(RAWS[0]), RAWS[0])]


def test_a_block_that_cannot_be_masked_is_not_kept(query: Query, tmp_path: Path) -> None:
    stream_id = uuid.uuid4()
    recorder = recorder_in(tmp_path, stream_id, ActivePolicy(Failing({}), "redact", 1, 1, Mode.ENFORCE))
    recorder.append(closed(stream_id, blocks=[block(text=SECRET)]))
    recorder.flush()
    move(tmp_path)
    assert query("SELECT text FROM records_block") == [("",)]


def test_times_stay_those_at_which_the_chunks_came(query: Query, tmp_path: Path) -> None:
    stream_id = uuid.uuid4()
    recorder = recorder_in(tmp_path, stream_id)
    first, second = received(stream_id, RAWS[:3]), received(stream_id, RAWS[3:], first=3)
    recorder.append(first)
    recorder.append(second)
    recorder.append(sent(stream_id, passed([0, 1, 4])))
    recorder.append(closed(stream_id, chunk_count=5, frame_count=3))
    recorder.flush()
    move(tmp_path)
    came = "SELECT seq, (extract(epoch FROM received_at) * 1e6)::bigint FROM records_chunk ORDER BY seq"
    times: list[tuple[int, ChunksReceived]] = [(n, first if n < 3 else second) for n in range(5)]
    assert query(came) == [(seq, entry.received_at) for seq, entry in times]
