"""Parsing model names."""

import math

import pytest

from streamviz.simulator.asked import Asked, AskedReplay
from streamviz.simulator.errors import ProviderError
from streamviz.simulator.model_name import parse_model, parse_speed


def test_a_bare_name_is_a_scenario() -> None:
    assert parse_model("content") == Asked("content")


def test_options_follow_a_question_mark() -> None:
    asked = parse_model("content?seed=7&speed=4&chunks=500&pace=2.5&seconds=3")
    assert asked == Asked("content", seed=7, speed=4, chunks=500, pace=2.5, seconds=3)


@pytest.mark.parametrize("none", ["0", "inf"])
def test_speed_zero_and_infinite_mean_no_delays(none: str) -> None:
    assert parse_model(f"content?speed={none}") == Asked("content", speed=math.inf)


def test_a_replay_names_a_recording() -> None:
    assert parse_model("replay:openai_chat/some-slug?pieces=7&pace=5") == AskedReplay("openai_chat/some-slug", 7, 5)


@pytest.mark.parametrize(
    "model",
    [
        "content?sped=4",
        "content?seed=x",
        "content?seed=1.5",
        "content?seed=-1",
        "content?speed=-1",
        "content?speed=nan",
        "content?pace=inf",
        "content?seed=",
        "content?chunks=100000000",
        "content?scenario=5",
        "replay:openai_chat/slug?seed=4",
        "replay:openai_chat/slug?pieces=0",
        "replay:openai_chat/slug?recording=1",
    ],
)
def test_it_rejects_options_that_mean_nothing(model: str) -> None:
    with pytest.raises(ProviderError) as raised:
        parse_model(model)
    assert raised.value.status == 400


def test_it_rejects_a_negative_speed() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        parse_speed("-2")
