"""Both tapes aligned: what passed, was delayed, replaced, dropped or injected, and nothing if no policy acted."""

from collections.abc import Sequence

from streamviz.core.aggregator import Chunk
from streamviz.core.differences import Differ, Part
from streamviz.core.policy import ActivePolicy
from streamviz.core.tape_alignment import align
from streamviz.core.tapes import Fate, Held, Row, Sent, Tapes
from streamviz.core.timeline import Timeline
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.policies import build
from tests.core.support import Opinion, Run, active, call, calls, chunks, delta, deny_names, parse
from tests.recordings import recorded

ALLOWS = Opinion(lambda block: Verdict(Decision.ALLOW))


async def both(policies: Sequence[ActivePolicy], stream: Sequence[Chunk]) -> Tapes:
    """The tapes of a stream under these policies; time passes with every event."""
    run = Run(policies)
    upstream, sent = Timeline(OpenAIChatAggregator()), list[Sent]()
    for chunk in (*stream, None):
        at = run.context.now()
        if chunk is not None:
            upstream.add(chunk.seq, at, iter([chunk]))
            await run.processor.take([chunk], run.context)
        else:
            await run.processor.end(run.context)
        sent += [Sent(run.context.now(), each.seq, each.origin) for each in run.context.outbox[len(sent) :]]
    client = Timeline(OpenAIChatAggregator())
    for number, frame in enumerate(run.context.outbox):
        client.add(number, sent[number].at, iter(parse(frame.raw)))
    blocks = run.context.state.blocks
    holds = [
        Held(ordinal, blocks[ordinal].first_seq, hold.since, hold.ended_at or 0, hold.policies)
        for ordinal, hold in run.context.holds.items()
    ]
    return Tapes(upstream, client, sent, holds)


def shown(row: Row) -> tuple[str, list[int], list[int], str]:
    by = ", ".join(row.held.by) if row.held else row.origin if row.fate in (Fate.REPLACED, Fate.INJECTED) else ""
    return str(row.fate), list(row.seqs), list(row.frames), by


async def test_an_untouched_stream_only_passes() -> None:
    words = [delta(content=f"{n} ") for n in range(5)]
    tapes = await both([], chunks(*words, delta(finish="stop"), "[DONE]"))
    assert {row.fate for row in align(tapes)} == {Fate.PASSED}
    assert [row.seqs for row in align(tapes)] == [range(5), range(5, 7)]


async def test_frames_of_chunks_that_the_record_lacks_pass_over_nothing() -> None:
    tapes = await both([], chunks(*(delta(content=f"{n} ") for n in range(3)), delta(finish="stop"), "[DONE]"))
    odd = [each._replace(seq=seq) for each, seq in zip(tapes.frames, (0, -1, 999_999, 3, 4), strict=True)]
    rows = align(tapes._replace(frames=odd))
    assert [seq for row in rows for seq in row.seqs] == [*range(5)]
    assert [number for row in rows for number in row.frames] == [*range(5)]


async def test_recorded_streams_that_nothing_acts_on_only_pass() -> None:
    for path in sorted(recorded("openai_chat"))[:60]:
        tapes = await both([], parse(path.read_bytes()))
        assert {row.fate for row in align(tapes)} <= {Fate.PASSED}, path.stem


async def test_three_policies_are_named_with_all_that_they_did() -> None:
    redact = active(build("text_rule", {"patterns": ["runner-\\d+"], "action": "replace", "replacement": "[host]"}),
                    name="hosts")  # fmt: skip
    policies = [active(deny_names("rm", text="[no]"), name="guard"), active(ALLOWS, name="second"), redact]
    stream = chunks(
        delta(content="All fine "),  # 0
        delta(content="on runner-17"),  # 1
        delta(content=" today."),  # 2
        calls(call(0, "a", "ls", "")),  # 3
        calls(call(0, None, None, "{}")),  # 4
        calls(call(1, "b", "rm", "")),  # 5
        calls(call(1, None, None, '{"path": "/"}')),  # 6
        delta(finish="tool_calls"),  # 7
        "[DONE]",  # 8
    )
    rows = align(await both(policies, stream))
    assert [shown(row) for row in rows] == EXPECTED
    assert [seq for row in rows for seq in row.seqs] == list(range(9))
    assert [number for row in rows for number in row.frames] == list(range(8))


EXPECTED = [
    ("passed", [0], [0], ""),
    ("replaced", [1, 2], [1, 2], "hosts"),
    ("replaced", [3], [3], "hosts"),  # rewritten, with the same words
    ("delayed", [4], [4], "guard, second"),
    ("dropped", [5, 6], [], ""),
    ("injected", [], [5], "guard"),
    ("replaced", [7], [6], "guard"),
    ("passed", [8], [7], ""),
]


def test_words_that_differ_are_found_inside_a_text() -> None:
    assert Differ().parts("on ci-7 now", "on [host] now") == [
        Part("on ", "on "),
        Part("ci-7", "[host]"),
        Part(" now", " now"),
    ]
    assert Differ().parts("", "a") == [Part("", "a")]
    assert Differ().parts("same", "same") == [Part("same", "same")]


def test_texts_of_any_length_are_compared_in_time() -> None:
    before = "a b " * 100_000
    parts = Differ().parts(before, f"{before}!")
    assert "".join(part.before for part in parts) == before
    assert [part for part in parts if not part.is_same] == [Part("", "!")]
