"""LiteLLM writes out what schemas refer to: what that comes to is known before it does."""

from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.wire import ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.core.wire_format import WireFormat
from streamviz.upstream.fitting import fit
from streamviz.upstream.targets import Lane, Target

FLASH = ("gemini", "gemini-2.5-flash")
GPT = ("openai", "gpt-4.1")
STEPS = 40
HELLO = [{"role": "user", "content": "Hello"}]


def to(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def doubling(keyword: str = "$defs") -> dict[str, Any]:
    steps = {f"s{step}": {"anyOf": [to(f"s{step + 1}")] * 2} for step in range(STEPS)}
    return {**to("s0"), keyword: {**steps, f"s{STEPS}": {"type": "integer"}}}


def each_to_all(count: int) -> dict[str, Any]:
    """Definitions that go in circles: whatever way is taken through them, it comes to an end."""
    names = [f"d{number}" for number in range(count)]
    return {**to("d0"), "$defs": {name: {"anyOf": [to(each) for each in names]} for name in names}}


def many(count: int) -> dict[str, Any]:
    """LiteLLM copies the list of definitions for each object that it comes by."""
    return {"properties": {f"p{number}": {} for number in range(count)}, "$defs": {f"d{n}": {} for n in range(count)}}


HUGE: dict[str, dict[str, Any]] = {
    "doubling": doubling(),
    "doubling, in older words": doubling("definitions"),
    "below a property": {"properties": {"a": doubling()}},
    "in circles": each_to_all(12),
    "long words": {"items": [to("long")] * 1_000, "$defs": {"long": {"description": "x" * 10_000}}},
    "one behind the other": {**to("s0"), "$defs": {f"s{n}": to(f"s{n + 1}") for n in range(5_000)}},
    "many of both": many(5_000),
}


def asking(of: WireFormat, schema: Any) -> dict[str, Any]:
    """A request that offers a tool with this schema."""
    function = {"name": "f", "parameters": schema}
    offered: dict[str, list[dict[str, Any]]] = {
        OPENAI_CHAT.name: [{"type": "function", "function": function}],
        OPENAI_RESPONSES.name: [{"type": "function", **function}],
        ANTHROPIC_MESSAGES.name: [{"name": "f", "input_schema": schema}],
        GEMINI.name: [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}],
    }
    return {of.turns: HELLO, "tools": offered[of.name]}


def fitted(of: WireFormat, at: tuple[str, str], **fields: Any) -> None:
    provider, model = at
    fit(Target(model, provider, of.name, Lane.TRANSLATED), {"model": "any", **fields})


@pytest.mark.parametrize("schema", HUGE)
def test_what_comes_to_more_than_anybody_reads_is_refused(schema: str) -> None:
    with pytest.raises(RequestError, match="refer") as refused:
        fitted(OPENAI_CHAT, FLASH, **asking(OPENAI_CHAT, HUGE[schema]))
    assert (refused.value.status, refused.value.code) == (413, "too_large")


@pytest.mark.parametrize("of", [OPENAI_RESPONSES, ANTHROPIC_MESSAGES])
def test_so_it_is_in_every_format(of: WireFormat) -> None:
    with pytest.raises(RequestError, match="refer"):
        fitted(of, FLASH, **asking(of, doubling()))


def test_so_it_is_for_the_form_of_an_answer() -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "answer", "schema": doubling()}}
    with pytest.raises(RequestError, match="refer"):
        fitted(OPENAI_CHAT, FLASH, messages=HELLO, response_format=asked)


def test_gemini_s_own_words_are_refused_for_other_providers() -> None:
    with pytest.raises(RequestError, match="refer"):
        fitted(GEMINI, ("mistral", "mistral-large-latest"), **asking(GEMINI, doubling()))


def test_openais_models_take_schemas_as_they_are() -> None:
    fitted(ANTHROPIC_MESSAGES, GPT, **asking(ANTHROPIC_MESSAGES, doubling()))


def test_schemas_as_people_have_them_go_on() -> None:
    node = {"properties": {"text": {"type": "string"}, "below": {"type": "array", "items": to("node")}}}
    leaf = {"type": "object", "properties": {f"p{n}": {"type": "string", "description": "x" * 80} for n in range(20)}}
    properties = {f"a{number}": to("leaf") for number in range(30)}
    schema = {"type": "object", "properties": {**properties, "tree": to("node")}, "$defs": {"leaf": leaf, "node": node}}
    function = {"name": "f", "parameters": schema}
    fitted(OPENAI_CHAT, FLASH, messages=HELLO, tools=[{"type": "function", "function": function}] * 20)


def test_what_refers_to_nothing_goes_on() -> None:
    schema = {"properties": {"a": to("missing"), "b": {"$ref": 1}, "$defs": "none"}, "definitions": {"a": True}}
    fitted(OPENAI_CHAT, FLASH, **asking(OPENAI_CHAT, schema))
