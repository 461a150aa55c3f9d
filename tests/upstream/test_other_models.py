"""A request names a single model: the one that keys and policies were checked for."""

import tracemalloc
from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.upstream.other_models import called_by_tools, require_one_model

OTHER = ["anthropic/claude-opus-4"]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"models": OTHER}, "models"),
        ({"fallbacks": OTHER}, "fallbacks"),
        ({"route": "fallback"}, "route"),
        ({"extra_body": {"models": OTHER}}, "extra_body.models"),
        ({"extra_body": {"model": OTHER[0]}}, "extra_body.model"),
        ({"provider": {"order": [{"fallbacks": OTHER}]}}, "provider.order.fallbacks"),
        ({"plugins": [{"id": "auto", "model": OTHER[0]}]}, "plugins.model"),
        ({"providerOptions": {"gateway": {"models": OTHER}}}, "providerOptions.gateway.models"),
    ],
)
def test_a_field_that_names_others_is_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(RequestError) as raised:
        require_one_model({"model": "openrouter/openai/gpt-4o-mini", "messages": [], **fields})
    assert (raised.value.status, raised.value.param) == (400, named)
    assert named in raised.value.message


def test_what_names_no_model_goes_on() -> None:
    held = {"extra_body": {"google": {"thinking_config": {}}}, "provider": {"order": ["openai"]}, "models": None}
    said = {"role": "user", "content": [{"models": OTHER}]}
    require_one_model({"model": "x", "messages": [said], "metadata": {"route": "a"}, **held})


def test_the_models_that_tools_call_at_the_provider_are_told() -> None:
    tools = [{"type": "advisor_20260301", "model": OTHER[0]}, {"type": "image_generation", "model": "gpt-image-1"}]
    own = [{"name": "ask", "model": "x"}, {"type": "function", "function": {"name": "ask"}, "model": "x"}, "odd", None]
    assert called_by_tools({"tools": [*tools, *own, {"type": "web_search"}]}) == {OTHER[0], "gpt-image-1"}
    assert called_by_tools({"tools": {"model": "x"}}) == set()


def test_tools_within_tools_and_those_searched_for_call_models_too() -> None:
    within = {"type": "namespace", "tools": [{"type": "namespace", "tools": [{"type": "advisor", "model": "a"}]}]}
    found = {"type": "tool_search_output", "tools": [{"type": "image_generation", "model": "b"}]}
    assert called_by_tools({"tools": [within], "input": [found, "odd"]}) == {"a", "b"}


def test_tools_that_are_added_in_the_conversation_call_models_too() -> None:
    one, other = (
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"type": "advisor", "model": name}}}
        for name in "ab"
    )
    compacted = {"role": "assistant", "content": [{"type": "compaction", "tool_changes": [one, "odd"]}]}
    said = [compacted, {"role": "system", "content": [{"type": "tool_addition", "tool": "odd"}, other]}, "odd"]
    assert called_by_tools({"messages": said}) == {"a", "b"}


def test_a_long_name_is_not_told_again_for_each_value_below_it() -> None:
    below: dict[str, Any] = {str(number): {} for number in range(10_000)}
    fields: dict[str, Any] = {"model": "x", "extra_body": {"x" * 100_000: below}}
    tracemalloc.start()
    require_one_model(fields)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000
