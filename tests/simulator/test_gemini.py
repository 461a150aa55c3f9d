"""The simulator as Google's provider: each scenario, read by Google's SDK."""

from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from streamviz.simulator.asked import Asked
from streamviz.simulator.scenarios import SCENARIOS, write_script
from streamviz.simulator.steps import fold
from tests.simulator.process import Simulator

BROKEN = {"error-midstream", "garbage", "disconnect", "no-finish"}
WHOLE = [
    pytest.param(name, marks=pytest.mark.slow) if name == "big" else name
    for name in SCENARIOS
    if name not in BROKEN and not name.startswith("error-")
]


@pytest.fixture
def sdk(simulator: Simulator) -> genai.Client:
    return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=simulator.url, api_version="v1beta"))


def ask(sdk: genai.Client, scenario: str, *, streaming: bool) -> list[types.GenerateContentResponse]:
    asked: Any = {"model": f"{scenario}%3Fseed=11", "contents": "Hello"}
    if streaming:
        return list(sdk.models.generate_content_stream(**asked))
    return [sdk.models.generate_content(**asked)]


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("scenario", WHOLE)
def test_it_says_what_its_script_says(sdk: genai.Client, scenario: str, *, streaming: bool) -> None:
    chunks = ask(sdk, scenario, streaming=streaming)
    parts = [part for chunk in chunks for part in chunk.parts or []]
    script = fold(write_script(Asked(scenario, seed=11), 11, 1, 1.0).steps)
    for kind, is_thought in (("thinking", True), ("content", False)):
        want = "".join(part.text for part in script if (part.kind == "thinking") == is_thought and part.kind != "tool")
        assert "".join(part.text or "" for part in parts if bool(part.thought) == is_thought) == want, kind
    calls = [part.function_call.name for part in parts if part.function_call]
    assert calls == [part.name for part in script if part.kind == "tool"]
    assert chunks[-1].usage_metadata is not None


def test_it_fails_as_google_does(sdk: genai.Client) -> None:
    for scenario, code in (("error-429", 429), ("error-midstream", 500), ("none", 404)):
        with pytest.raises(errors.APIError) as raised:
            ask(sdk, scenario, streaming=True)
        assert raised.value.code == code


def test_it_counts_tokens(sdk: genai.Client) -> None:
    assert (sdk.models.count_tokens(model="content", contents="Hello").total_tokens or 0) > 0
