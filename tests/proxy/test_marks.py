"""The marks that a request looks for: those of its last answer before any of the earlier ones."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pytest

from streamviz.proxy.marks import Marks
from streamviz.proxy.speakers import tools_in
from streamviz.proxy.transcripts import Turn

CALL = {"id": "call_9f31c2a07d5e", "type": "function", "function": {"name": "run_tests", "arguments": "{}"}}
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "Mend the flaky test."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": CALL["id"], "content": "4 failed"},
    {"role": "assistant", "content": "It reads the wall clock, which is corrected every minute while the test sleeps."},
    {"role": "user", "content": "Then mend that."},
]


def marks(said: Iterable[dict[str, Any]]) -> Marks:
    return Marks(b"secret", "key", {"messages": list(said)}, "messages")


def left(said: list[dict[str, Any]]) -> set[int]:
    """The marks that the stream leaves whose answer is the last of these messages."""
    answer = Turn(is_answer=True)
    if content := said[-1]["content"]:
        answer.say(content)
    for call in said[-1].get("tool_calls", ()):
        answer.call(call["function"]["name"], call["function"]["arguments"], call["id"])
    return set(marks(said[:-1]).left([answer], ()))


def test_a_text_behind_a_call_is_looked_for_before_the_call() -> None:
    called, told = left(SAID[:2]), left(SAID[:4])
    for is_named in (False, True):
        asked = list(marks(SAID).asked(is_named=is_named, is_retry=False))
        found = [at for at, mark in enumerate(asked) if mark in told]
        assert found
        assert found[0] < min(at for at, mark in enumerate(asked) if mark in called)


def test_the_call_that_a_result_answers_comes_first() -> None:
    asked = list(marks(SAID[:3]).asked(is_named=False, is_retry=False))
    assert asked[0] in left(SAID[:2])


def test_what_has_no_turns_is_not_read_to_its_end() -> None:
    class Texts(list[str]):
        """Texts to embed, none of which is a turn."""

        read = 0

        def __reversed__(self) -> Iterator[str]:
            for each in super().__reversed__():
                self.read += 1
                yield each

    texts = Texts(["x"] * 10_000)
    assert list(Marks(b"secret", "key", {"input": texts}, "input").asked(is_named=False, is_retry=False)) == []
    assert texts.read < 500


@pytest.mark.parametrize("turns", [1, 2, 8, 9, 10, 11, 60])
@pytest.mark.parametrize("looked_for", [0, 1, 5, None])
def test_a_stream_leaves_the_same_however_far_its_request_was_read_before(turns: int, looked_for: int | None) -> None:
    said = [{"role": ("user", "assistant")[at % 2], "content": f"What was said in turn {at}."} for at in range(turns)]
    answer = Turn(is_answer=True, texts=["Because the clock is corrected meanwhile."], weight=41)
    unread, read = marks(said), marks(said)
    for _ in islice(read.asked(is_named=True, is_retry=True), looked_for):
        pass
    read.drop_texts()
    kept = []
    for each in (unread, read):
        requests = each.requests
        each.release()
        kept.append((requests, each.left([answer], ["message-1"])))
    assert kept[0] == kept[1]


def test_what_names_a_person_or_a_tool_is_kept_in_brief() -> None:
    fields = {"user": "u" * 1_000_000, "tools": [{"name": "t" * 1_000_000}, *[{"name": f"t{n}"} for n in range(9_000)]]}
    marks = Marks(b"secret", "key", {**fields, "messages": []}, "messages")
    assert len(marks._person) < 10_000
    tools = tools_in(fields)
    assert len(tools) == 1_000
    assert max(map(len, tools)) < 10_000
