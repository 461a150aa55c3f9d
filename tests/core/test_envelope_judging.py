"""What an answer says about itself is read piece by piece, so that other streams can continue in between."""

from typing import ClassVar

from streamviz.core.blocks import Told
from streamviz.core.envelope_judging import EnvelopeJudging
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import Policy
from streamviz.core.request import ModelCall
from tests.core.support import active


class Reads(Policy):
    """Records each reading, and finds the word `forbidden`."""

    kind = "reads"
    parameters_schema: ClassVar[JsonObject] = {}

    def __init__(self, steps: list[str]) -> None:
        self._steps = steps

    def found_beside(self, text: str, is_word: bool) -> str:
        self._steps.append("read")
        if "unreadable" in text:
            raise ValueError("it has too many places to check")
        return "word" if "forbidden" in text else ""


async def steps_of(text: str, request: JsonObject) -> tuple[str, list[str]]:
    """Why the text is kept from the client (empty if it is not), and the steps that led there."""
    steps: list[str] = []

    async def rest() -> None:
        steps.append("rest")

    judging = EnvelopeJudging([active(Reads(steps))])
    context = ChainContext("run-1", lambda: 0, ModelCall("openai_chat", request))
    return await judging.forbidden([Told(text, False)], context, rest), steps


async def test_others_go_on_between_the_pieces_of_a_long_text() -> None:
    why, steps = await steps_of("some words " * 1_000, {})
    assert why == ""
    assert steps == ["read", "rest"] * 3


async def test_what_is_found_in_a_piece_ends_the_stream_there() -> None:
    why, steps = await steps_of("some words " * 500 + "forbidden " + "some words " * 1_000, {})
    assert "policy rule forbids" in why
    assert steps == ["read", "rest", "read"]


async def test_a_long_text_of_the_requests_own_is_not_read() -> None:
    text = "forbidden words " * 500
    assert await steps_of(text, {"metadata": {"about": text}}) == ("", [])


async def test_a_text_of_the_requests_own_is_let_through_where_it_cannot_be_read() -> None:
    assert (await steps_of("unreadable", {"instructions": "unreadable"}))[0] == ""
    assert "policy rule forbids" in (await steps_of("unreadable", {"instructions": "readable"}))[0]


async def test_the_reason_names_what_was_found_whatever_its_first_letter() -> None:
    async def rest() -> None:
        """One short text needs none."""

    context = ChainContext("run-1", lambda: 0, ModelCall("openai_chat", {}))
    await EnvelopeJudging([active(Reads([]))]).forbidden([Told("forbidden", False)], context, rest)
    [judgement] = context.judgements
    assert judgement.verdict.reason == "Found in the response's metadata or an error: word."
