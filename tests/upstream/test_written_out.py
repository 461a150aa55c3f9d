"""LiteLLM expands references in schemas: the resulting size is known before it does."""

from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from streamviz.core.errors import ClientFacingError, RequestError
from streamviz.core.model_names import SIMULATOR
from streamviz.core.wire import ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.core.wire_format import WireFormat
from streamviz.upstream.fitting import fit
from streamviz.upstream.targets import Lane, Target
from streamviz.upstream.translated import open_translated
from streamviz.upstream.written_out import KEEP_REFERENCES

FLASH = ("gemini", "gemini-2.5-flash")
STEPS = 40
HELLO = [{"role": "user", "content": "Hello"}]


def to(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def doubling(keyword: str = "$defs") -> dict[str, Any]:
    steps = {f"s{step}": {"anyOf": [to(f"s{step + 1}")] * 2} for step in range(STEPS)}
    return {**to("s0"), keyword: {**steps, f"s{STEPS}": {"type": "integer"}}}


def each_to_all(count: int) -> dict[str, Any]:
    """Circular definitions: every path through them comes to an end."""
    names = [f"d{number}" for number in range(count)]
    return {**to("d0"), "$defs": {name: {"anyOf": [to(each) for each in names]} for name in names}}


def many(count: int) -> dict[str, Any]:
    """LiteLLM copies the list of definitions for each object that it encounters."""
    return {"properties": {f"p{number}": {} for number in range(count)}, "$defs": {f"d{n}": {} for n in range(count)}}


# One for each place that can have definitions.
SMALL: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"$ref": f"#/{way}/leaf"}}, **told}
    for way, told in {
        "$defs": {"$defs": {"leaf": {"type": "string"}}},
        "definitions": {"definitions": {"leaf": {"type": "string"}}},
        "components/schemas": {"components": {"schemas": {"leaf": {"type": "string"}}}},
    }.items()
]
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
def test_what_comes_to_more_than_anybody_reads_is_refused_in_every_format(of: WireFormat) -> None:
    with pytest.raises(RequestError, match="refer"):
        fitted(of, FLASH, **asking(of, doubling()))


def test_what_comes_to_more_than_anybody_reads_is_refused_in_the_form_of_an_answer() -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "answer", "schema": doubling()}}
    with pytest.raises(RequestError, match="refer"):
        fitted(OPENAI_CHAT, FLASH, messages=HELLO, response_format=asked)


@pytest.mark.parametrize("provider", ["anthropic", "fireworks_ai", "named_by_a_route"])
def test_what_comes_to_more_than_anybody_reads_is_refused_for_other_providers(provider: str) -> None:
    with pytest.raises(RequestError, match="refer"):
        fitted(GEMINI, (provider, "m"), **asking(GEMINI, doubling()))


@pytest.mark.parametrize("provider", ["openai", "deepseek", "openrouter", "hosted_vllm"])
def test_who_takes_schemas_as_they_are_gets_them(provider: str) -> None:
    fitted(ANTHROPIC_MESSAGES, (provider, "m"), **asking(ANTHROPIC_MESSAGES, doubling()))


# LiteLLM imports more of itself at the first call, some of it with warnings.
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
async def test_for_providers_that_take_references_litellm_writes_nothing_out() -> None:
    asked: list[str] = []

    async def refuse(request: web.BaseRequest) -> web.Response:
        asked.append(await request.text())
        return web.json_response({"error": {"message": "no"}}, status=400)

    tools = [{"type": "function", "function": {"name": "f", "parameters": each}} for each in SMALL]
    async with RawTestServer(refuse) as server:
        for provider in sorted(KEEP_REFERENCES - {SIMULATOR}):
            at = Target("m", provider, OPENAI_CHAT.name, Lane.TRANSLATED, base_url=str(server.make_url("/")), key="k")
            with pytest.raises(ClientFacingError):
                await open_translated(at, {"messages": HELLO, "tools": tools}, 30)
    assert len(asked) > len(KEEP_REFERENCES) / 2
    assert {body.count("$ref") for body in asked} == {len(SMALL)}


@pytest.mark.slow
def test_schemas_as_people_have_them_go_on() -> None:
    node = {"properties": {"text": {"type": "string"}, "below": {"type": "array", "items": to("node")}}}
    leaf = {"type": "object", "properties": {f"p{n}": {"type": "string", "description": "x" * 80} for n in range(20)}}
    properties = {f"a{number}": to("leaf") for number in range(30)}
    schema = {"type": "object", "properties": {**properties, "tree": to("node")}, "$defs": {"leaf": leaf, "node": node}}
    function = {"name": "f", "parameters": schema}
    fitted(OPENAI_CHAT, FLASH, messages=HELLO, tools=[{"type": "function", "function": function}] * 20)


def test_a_reference_to_nothing_goes_on() -> None:
    schema = {"properties": {"a": to("missing"), "b": {"$ref": 1}, "$defs": "none"}, "definitions": {"a": True}}
    fitted(OPENAI_CHAT, FLASH, **asking(OPENAI_CHAT, schema))
