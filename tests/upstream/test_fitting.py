"""What a provider of another format gets of a request: what it can take; the rest is listed, or refused."""

import json
from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.json_value import objects
from streamviz.core.wire import ANTHROPIC_MESSAGES, EMBEDDINGS, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.core.wire_format import WireFormat
from streamviz.upstream.fitting import Fitted, fit
from streamviz.upstream.formats import TRANSLATED_FORMATS
from streamviz.upstream.targets import Lane, Target

MESSAGES: Any = [{"role": "user", "content": "Hello"}]
GPT = ("openai", "gpt-5")
CLAUDE = ("anthropic", "claude-sonnet-4-5")


def fitted(of: WireFormat, at: tuple[str, str], *, as_chat: bool = False, **more: Any) -> Fitted:
    provider, model = at
    said = {of.turns: MESSAGES, **more}
    return fit(Target(model, provider, of.name, Lane.TRANSLATED), {"model": "any", **said}, as_chat=as_chat)


def test_a_claude_code_request_for_an_openai_model() -> None:
    request, left_out = fitted(
        ANTHROPIC_MESSAGES,
        GPT,
        max_tokens=32_000,
        thinking={"type": "adaptive"},
        output_config={"effort": "max"},
        context_management={"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        metadata={"user_id": "somebody"},
        cache_control={"type": "ephemeral"},
        stream=True,
    )
    assert request == {"messages": MESSAGES, "max_tokens": 32_000, "reasoning_effort": "high", "stream": True}
    assert left_out == ("context_management", "cache_control", "thinking")


@pytest.mark.parametrize(
    ("model", "may_not_think"), [("gpt-5", False), ("gpt-5.1", True), ("gpt-4o", False), ("o3", True)]
)
def test_no_thinking_is_said_to_models_that_can_do_without(model: str, may_not_think: bool) -> None:
    off = {"type": "disabled"}
    request, left_out = fitted(ANTHROPIC_MESSAGES, ("openai", model), thinking=off)
    assert (request.get("thinking"), left_out) == ((off, ()) if may_not_think else (None, ("thinking",)))


def test_words_to_stop_at_go_to_models_that_take_them() -> None:
    assert fitted(ANTHROPIC_MESSAGES, GPT, stop_sequences=[]).request == {"messages": MESSAGES}
    request, _ = fitted(ANTHROPIC_MESSAGES, ("openai", "gpt-4.1"), stop_sequences=["END"])
    assert request["stop_sequences"] == ["END"]


@pytest.mark.parametrize("of", [OPENAI_CHAT, ANTHROPIC_MESSAGES])
def test_how_to_choose_words_is_left_out_where_a_model_settles_it(of: WireFormat) -> None:
    request, left_out = fitted(of, GPT, temperature=0.2, top_p=0.95, top_k=64)
    assert (request, left_out) == ({"messages": MESSAGES}, ("temperature", "top_p", "top_k"))
    request, left_out = fitted(of, ("openai", "gpt-4.1"), temperature=0.2, top_p=0.95)
    assert (request, left_out) == ({"messages": MESSAGES, "temperature": 0.2, "top_p": 0.95}, ())


def test_how_to_choose_words_is_left_out_of_gemini_clis_config_too() -> None:
    config = {"temperature": 1, "topP": 0.95, "topK": 64, "maxOutputTokens": 9}
    request, left_out = fitted(GEMINI, GPT, generationConfig=config)
    assert request["generationConfig"] == {"temperature": 1, "maxOutputTokens": 9}
    assert left_out == ("generationConfig.topP", "generationConfig.topK")


def test_a_codex_request_for_an_anthropic_model() -> None:
    shell = {"type": "function", "name": "exec_command", "parameters": {"type": "object"}}
    request, left_out = fitted(
        OPENAI_RESPONSES,
        CLAUDE,
        tools=[shell, {"type": "web_search"}, {"type": "namespace", "name": "agents", "tools": []}],
        reasoning={"effort": "medium", "summary": "auto"},
        text={"verbosity": "low"},
        include=["reasoning.encrypted_content"],
        store=False,
        prompt_cache_key="a-key",
        client_metadata={"session_id": "s"},
    )
    assert request == {"input": MESSAGES, "tools": [shell], "reasoning": {"effort": "medium"}}
    assert set(left_out) == {
        *("store", "prompt_cache_key", "client_metadata", "text.verbosity", "reasoning.summary"),
        *("include: reasoning.encrypted_content", "tool web_search", "tool agents"),
    }


def test_a_turn_whose_thinking_nobody_kept_goes_on_without() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "nothing"}
    given = [*MESSAGES, call, result]
    assert fitted(OPENAI_RESPONSES, CLAUDE, input=given, reasoning={"effort": "low"}) == (
        {"input": given},
        ("reasoning.effort",),
    )
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": "sv-thinking:c2ln"}
    kept = [*MESSAGES, sealed, {"role": "assistant", "content": "Let me look."}, call, result]
    request, left_out = fitted(OPENAI_RESPONSES, CLAUDE, input=kept, reasoning={"effort": "low"})
    assert (request["reasoning"], left_out) == ({"effort": "low"}, ())
    again = [*given, *MESSAGES]
    request, left_out = fitted(OPENAI_RESPONSES, CLAUDE, input=again, reasoning={"effort": "low"})
    assert (request["reasoning"], left_out) == ({"effort": "low"}, ())


@pytest.mark.parametrize(("kept", "thinks"), [([{"type": "thinking", "signature": "c2ln"}], True), ([], False)])
def test_a_chat_client_may_keep_the_thinking_of_a_turn(kept: list[Any], thinks: bool) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "c"}], "thinking_blocks": kept}
    given = [*MESSAGES, call, {"role": "tool", "tool_call_id": "c", "content": "nothing"}]
    request, left_out = fitted(OPENAI_CHAT, CLAUDE, messages=given, reasoning_effort="low")
    assert ("reasoning_effort" in request, left_out) == ((True, ()) if thinks else (False, ("reasoning_effort",)))
    assert "reasoning_effort" in fitted(OPENAI_CHAT, CLAUDE, messages=[*given, *MESSAGES], reasoning_effort="low")[0]


def test_a_gemini_clients_turn_goes_on_without_thinking() -> None:
    said = [
        {"role": "user", "parts": [{"text": "Look"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f"}}]},
    ]
    request, left_out = fitted(
        GEMINI, CLAUDE, contents=said, generationConfig={"thinkingConfig": {"thinkingLevel": "LOW"}}
    )
    assert (request["generationConfig"], left_out) == ({}, ("generationConfig.thinkingConfig",))


@pytest.mark.parametrize("at", [GPT, CLAUDE])
def test_what_a_gemini_client_sends_by_habit_is_no_hindrance(at: tuple[str, str]) -> None:
    config = {
        "responseModalities": ["TEXT"],
        "presence_penalty": 0,
        "frequencyPenalty": 0.0,
        "candidateCount": 1,
        "stopSequences": [],
        "responseLogprobs": False,
        "maxOutputTokens": 9,
        "temperature": None,
    }
    more = {"mediaResolution": "MEDIA_RESOLUTION_LOW"}
    request, left_out = fitted(GEMINI, at, generationConfig=config | more, safetySettings=[{"category": "any"}])
    assert request == {"contents": MESSAGES, "generationConfig": {"maxOutputTokens": 9}}
    assert left_out == ("safetySettings", "generationConfig.mediaResolution")


def test_a_gemini_clients_hints_go_to_models_that_take_them() -> None:
    config = {"seed": 7, "thinkingConfig": {"thinkingLevel": "LOW"}}
    assert fitted(GEMINI, GPT, generationConfig=config).request["generationConfig"] == config
    request, left_out = fitted(GEMINI, CLAUDE, generationConfig=config)
    assert (request["generationConfig"], left_out) == (
        {"thinkingConfig": {"thinkingLevel": "LOW"}},
        ("generationConfig.seed",),
    )
    request, left_out = fitted(GEMINI, ("openai", "gpt-4.1"), generationConfig=config)
    assert (request["generationConfig"], left_out) == ({"seed": 7}, ("generationConfig.thinkingConfig",))


@pytest.mark.parametrize(("budget", "named"), [(0, True), (8192, True), (-1, False)])
@pytest.mark.parametrize("name", ["thinkingBudget", "thinking_budget"])
def test_how_much_to_think_in_tokens_is_left_out_and_named(name: str, budget: int, named: bool) -> None:
    _, left_out = fitted(GEMINI, GPT, generationConfig={"thinkingConfig": {name: budget}})
    assert left_out == (("generationConfig.thinkingConfig.thinkingBudget",) if named else ())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("responseModalities", ["TEXT", "AUDIO"]),
        ("presencePenalty", 0.5),
        ("responseLogprobs", True),
        ("speechConfig", {}),
    ],
)
def test_what_would_change_the_answer_of_a_gemini_client_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(GEMINI, CLAUDE, generationConfig={name: value})
    told = raised.value.status, raised.value.param, raised.value.code
    assert told == (400, f"generationConfig.{name}", "unsupported_parameter")


@pytest.mark.parametrize(
    ("of", "at", "name", "value"),
    [
        (OPENAI_RESPONSES, CLAUDE, "text", "brief"),
        (OPENAI_RESPONSES, CLAUDE, "tools", {"type": "function"}),
        (OPENAI_RESPONSES, CLAUDE, "include", "reasoning.encrypted_content"),
        (OPENAI_RESPONSES, CLAUDE, "reasoning", "high"),
        (ANTHROPIC_MESSAGES, GPT, "output_config", []),
    ],
)
def test_a_field_of_the_wrong_type_is_refused_by_name(
    of: WireFormat, at: tuple[str, str], name: str, value: Any
) -> None:
    with pytest.raises(RequestError, match=f"`{name}` must be") as raised:
        fitted(of, at, **{name: value})
    assert (raised.value.status, raised.value.param, raised.value.code) == (400, name, "invalid_type")


def test_what_a_chat_client_sends_by_habit_is_no_hindrance() -> None:
    habits: dict[str, Any] = {
        "presence_penalty": 0,
        "frequency_penalty": 0.0,
        "logit_bias": {},
        "logprobs": False,
        "n": 1,
        "seed": 7,
        "store": False,
        "verbosity": "low",
        "prompt_cache_key": "k",
        "top_logprobs": None,
        "user": "u",
        "temperature": 0.2,
    }
    request, left_out = fitted(OPENAI_CHAT, CLAUDE, **habits)
    assert request == {"messages": MESSAGES, "user": "u", "temperature": 0.2}
    assert set(left_out) == {"seed", "store", "verbosity", "prompt_cache_key"}


@pytest.mark.parametrize(
    ("of", "at", "name", "value"),
    [
        (OPENAI_CHAT, CLAUDE, "presence_penalty", 0.5),
        (OPENAI_CHAT, CLAUDE, "logprobs", True),
        (OPENAI_CHAT, CLAUDE, "n", 2),
        (OPENAI_CHAT, CLAUDE, "no_such_parameter", 1),
        (OPENAI_RESPONSES, CLAUDE, "previous_response_id", "resp_1"),
        (OPENAI_RESPONSES, CLAUDE, "background", True),
        (OPENAI_RESPONSES, CLAUDE, "include", ["message.output_text.logprobs"]),
        (OPENAI_RESPONSES, CLAUDE, "conversation", "conv_1"),
        (ANTHROPIC_MESSAGES, GPT, "mcp_servers", [{"type": "url"}]),
        (ANTHROPIC_MESSAGES, GPT, "container", "c_1"),
        (ANTHROPIC_MESSAGES, GPT, "stop_sequences", ["END"]),
    ],
)
def test_what_would_change_the_answer_is_refused_by_name(
    of: WireFormat, at: tuple[str, str], name: str, value: Any
) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(of, at, **{name: value})
    assert (raised.value.status, raised.value.param, raised.value.code) == (400, name, "unsupported_parameter")
    assert f"speaks {of.name}" in raised.value.message


def test_where_the_provider_speaks_the_format_nothing_is_left_out() -> None:
    request, left_out = fitted(
        ANTHROPIC_MESSAGES, ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"), thinking={}
    )
    assert (request, left_out) == ({"messages": MESSAGES, "thinking": {}}, ())


OWN_TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
VENDORS_TOOLS = [
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
    {"name": "web_search"},
    *({"type": f"{name}_20250124", "name": name} for name in ("bash", "text_editor", "code_execution", "memory")),
]


@pytest.mark.parametrize("at", [GPT, ("groq", "llama-3.3-70b-versatile")])
def test_anthropics_own_tools_are_left_out_and_named(at: tuple[str, str]) -> None:
    own = [OWN_TOOL, {**OWN_TOOL, "type": "custom", "name": "web_search"}]
    request, left_out = fitted(ANTHROPIC_MESSAGES, at, tools=[*VENDORS_TOOLS, *own], tool_choice={"type": "auto"})
    assert (request["tools"], request["tool_choice"]) == (own, {"type": "auto"})
    names = ("web_search", "bash", "text_editor", "code_execution", "memory")
    assert left_out == tuple(f"tool {name}" for name in names)
    request, _ = fitted(ANTHROPIC_MESSAGES, at, tools=VENDORS_TOOLS, tool_choice={"type": "auto"})
    assert request == {"messages": MESSAGES}


def test_what_a_tool_has_beside_its_schema_is_no_part_of_that() -> None:
    tools = [{**OWN_TOOL, "defer_loading": True, "strict": True}]
    request, left_out = fitted(ANTHROPIC_MESSAGES, GPT, tools=tools)
    assert (request["tools"], left_out) == ([{**OWN_TOOL, "strict": True}], ("tools.defer_loading",))


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "web_search"}])
def test_a_tool_of_anthropics_that_the_answer_must_use_is_not_left_out(choice: Any) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(ANTHROPIC_MESSAGES, GPT, tools=[OWN_TOOL, VENDORS_TOOLS[0]], tool_choice=choice)
    assert (raised.value.status, raised.value.param) == (400, "tool_choice")


CUSTOM_CALL = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "***"}}


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ({"tools": [{"type": "custom", "custom": {"name": "patch"}}]}, "tools.custom"),
        ({"messages": [{"role": "assistant", "tool_calls": [CUSTOM_CALL]}]}, "tool_calls.custom"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]}, "input_audio"),
    ],
)
def test_what_litellm_would_drop_of_chat_is_refused_by_name(told: Any, name: str) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(OPENAI_CHAT, CLAUDE, **told)
    assert (raised.value.status, raised.value.param) == (400, name)
    assert fitted(OPENAI_CHAT, GPT, **told).left_out == ()


@pytest.mark.parametrize(
    ("of", "told", "name"),
    [
        (OPENAI_CHAT, {"response_format": {"type": "json_object"}}, "response_format"),
        (OPENAI_RESPONSES, {"text": {"format": {"type": "json_object"}}}, "text.format"),
        (GEMINI, {"generationConfig": {"response_mime_type": "application/json"}},
         "generationConfig.responseMimeType"),
    ],
)  # fmt: skip
def test_json_of_any_kind_is_named_where_nobody_asks_for_it(of: WireFormat, told: Any, name: str) -> None:
    assert fitted(of, CLAUDE, **told).left_out == (name,)
    assert fitted(of, ("mistral", "mistral-large-latest"), **told).left_out == ()


def test_a_schema_of_the_answer_goes_to_claude() -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    assert fitted(OPENAI_CHAT, CLAUDE, response_format=schema).left_out == ()


def test_what_a_model_refused_is_among_what_it_said() -> None:
    told: Any = [
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "assistant", "content": "Yes.", "refusal": None},
    ]
    said: Any = fitted(OPENAI_CHAT, CLAUDE, messages=told).request["messages"]
    assert [message["content"] for message in said] == ["No.", [{"type": "text", "text": "No."}], "Yes."]


@pytest.mark.parametrize("tool", [{"googleSearch": {}}, {"type": "web_search"}])
def test_a_tool_of_the_providers_own_needs_no_name(tool: Any) -> None:
    assert fitted(OPENAI_CHAT, ("gemini", "gemini-2.5-pro"), tools=[tool]).request["tools"] == [tool]


@pytest.mark.parametrize("at", [CLAUDE, ("gemini", "gemini-2.5-pro")])
@pytest.mark.parametrize("tool", [{"type": "function"}, {"type": "function", "function": None}, {"function": {}}, {}])
def test_a_function_without_a_name_is_the_clients_mistake(at: tuple[str, str], tool: Any) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(OPENAI_CHAT, at, tools=[tool])
    assert (raised.value.status, raised.value.param) == (400, "tools")


def test_a_document_for_claude_is_a_text_for_others() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}}
    request, _ = fitted(ANTHROPIC_MESSAGES, GPT, messages=[{"role": "user", "content": [document]}])
    assert request["messages"] == [{"role": "user", "content": [{"type": "text", "text": "plain"}]}]


def test_one_call_at_a_time_is_said_to_models_that_can_be_told() -> None:
    only = {"type": "auto", "disable_parallel_tool_use": True}
    request, left_out = fitted(ANTHROPIC_MESSAGES, GPT, tools=[OWN_TOOL], tool_choice=only)
    assert (request["parallel_tool_calls"], left_out) == (False, ())
    with pytest.raises(RequestError) as raised:
        fitted(ANTHROPIC_MESSAGES, ("openai", "o3"), tools=[OWN_TOOL], tool_choice=only)
    assert (raised.value.status, raised.value.param) == (400, "tool_choice.disable_parallel_tool_use")
    forced = {**only, "type": "tool", "name": "look"}
    request, left_out = fitted(ANTHROPIC_MESSAGES, ("openai", "o3"), tools=[OWN_TOOL], tool_choice=forced)
    assert (request["tool_choice"], left_out) == (forced, ("tool_choice.disable_parallel_tool_use",))


@pytest.mark.parametrize("kind", ["file_search", "mcp", "", "no_such_tool"])
def test_a_tool_that_brings_knowledge_is_refused_by_name(kind: str) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(OPENAI_RESPONSES, CLAUDE, tools=[{"type": "web_search"}, {"type": kind}])
    assert (raised.value.status, raised.value.param) == (400, f"tools.{kind}")


def test_openais_own_tools_are_left_out_and_named() -> None:
    kinds = ("local_shell", "shell", "apply_patch", "computer_use_preview", "web_search_2025_08_26")
    request, left_out = fitted(OPENAI_RESPONSES, CLAUDE, tools=[{"type": kind} for kind in kinds], tool_choice="auto")
    assert (request, left_out) == ({"input": MESSAGES}, tuple(f"tool {kind}" for kind in kinds))


def test_calls_of_those_tools_go_on_as_calls_of_functions() -> None:
    call = {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}
    request, _ = fitted(OPENAI_RESPONSES, CLAUDE, input=[*MESSAGES, call])
    assert request["input"] == [
        *MESSAGES,
        {"type": "function_call", "call_id": "c", "name": "shell", "arguments": '{"commands":["ls"]}'},
    ]


@pytest.mark.parametrize("choice", ["required", {"type": "web_search"}, {"type": "local_shell"}])
def test_a_tool_that_the_answer_must_use_is_not_left_out(choice: Any) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(OPENAI_RESPONSES, CLAUDE, tools=[{"type": "web_search"}], tool_choice=choice)
    assert (raised.value.status, raised.value.param) == (400, "tool_choice")


def function(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": {"type": "object"}, **more}


def test_tools_of_a_namespace_are_offered_by_both_names() -> None:
    patch = {"type": "custom", "name": "patch"}
    namespace = {"type": "namespace", "name": "fs", "description": "Files.",
                 "tools": [function("read", description="Reads."), patch, {"type": "web_search"}]}  # fmt: skip
    request, left_out = fitted(OPENAI_RESPONSES, CLAUDE, tools=[function("ls"), namespace])
    assert request["tools"] == [
        function("ls"),
        function("fs__read", description="Files.\n\nReads.", namespace="fs"),
        {**patch, "name": "fs__patch", "description": "Files.", "namespace": "fs"},
    ]
    assert left_out == ("tool web_search",)


@pytest.mark.parametrize(("mode", "choice"), [("auto", "auto"), ("required", "required")])
def test_of_tools_that_are_not_allowed_another_provider_is_not_told(mode: str, choice: str) -> None:
    namespace = {"type": "namespace", "name": "fs", "tools": [function("read")]}
    named = [{"type": "function", "name": "ls"}, {"type": "namespace", "name": "fs"}]
    allowed = {"type": "allowed_tools", "mode": mode, "tools": named}
    offered = [function("ls"), function("rm"), namespace, {"type": "web_search"}]
    request, left_out = fitted(OPENAI_RESPONSES, CLAUDE, tools=offered, tool_choice=allowed)
    assert [tool["name"] for tool in objects(request["tools"])] == ["ls", "fs__read"]
    assert (request["tool_choice"], left_out) == (choice, ())


@pytest.mark.parametrize("repeated", ["name", "description"])
def test_what_a_namespace_says_makes_a_request_no_longer_without_end(repeated: str) -> None:
    tools = [{**function(f"t{number}"), "description": "It."} for number in range(500)]
    namespace = {"type": "namespace", "name": "fs", "tools": tools, repeated: "x" * 100_000}
    request, _ = fitted(OPENAI_RESPONSES, CLAUDE, tools=[function("ls"), namespace])
    assert len(json.dumps(request)) < 500_000


def test_a_tool_of_a_namespace_is_chosen_by_both_names() -> None:
    namespace = {"type": "namespace", "name": "fs", "tools": [function("read"), function("rm")]}
    read = {"type": "function", "namespace": "fs", "name": "read"}
    request, _ = fitted(OPENAI_RESPONSES, CLAUDE, tools=[namespace], tool_choice=read)
    assert request["tool_choice"] == {"type": "function", "name": "fs__read"}
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [read]}
    request, _ = fitted(OPENAI_RESPONSES, CLAUDE, tools=[namespace], tool_choice=allowed)
    assert [tool["name"] for tool in objects(request["tools"])] == ["fs__read"]


def test_of_tools_that_chat_does_not_allow_another_provider_is_not_told() -> None:
    ls, rm = ({"type": "function", "function": {"name": name}} for name in ("ls", "rm"))
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [ls]}}
    request, _ = fitted(OPENAI_CHAT, CLAUDE, tools=[ls, rm], tool_choice=allowed)
    assert (request["tools"], request["tool_choice"]) == ([ls], "required")
    request, _ = fitted(OPENAI_CHAT, ("azure", "gpt-4.1"), tools=[ls, rm], tool_choice=allowed)
    assert (request["tools"], request["tool_choice"]) == ([ls, rm], allowed)


def test_a_choice_of_tools_that_are_not_there_is_refused() -> None:
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "rm"}]}
    with pytest.raises(RequestError, match="`tool_choice` must be limited to tools in `tools`"):
        fitted(OPENAI_RESPONSES, CLAUDE, tools=[function("ls")], tool_choice=allowed)


@pytest.mark.parametrize("odd", [{"a": 1}, ["b"], 5])
def test_odd_members_of_a_list_are_refused_by_name(odd: Any) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(OPENAI_RESPONSES, CLAUDE, include=[odd])
    assert (raised.value.status, raised.value.param) == (400, "include")


def test_long_names_that_are_left_out_are_kept_short() -> None:
    _, left_out = fitted(OPENAI_RESPONSES, CLAUDE, tools=[{"type": "namespace", "name": "x" * 10_000}] * 1_000)
    assert len(", ".join(left_out)) < 300


SIM = ("simulator", "reasoner")


@pytest.mark.parametrize("at", [GPT, SIM])
@pytest.mark.parametrize(
    ("of", "told"),
    [
        *(
            (OPENAI_RESPONSES, told)
            for told in (
                {"previous_response_id": "resp_1"},
                {"conversation": "conv_1"},
                {"prompt": {"id": "p"}},
                {"background": True},
                {"top_logprobs": 3},
                {"include": ["message.output_text.logprobs"]},
            )
        ),
        (ANTHROPIC_MESSAGES, {"container": "c"}),
        (ANTHROPIC_MESSAGES, {"mcp_servers": [{"url": "https://a.example"}]}),
    ],
)
def test_called_as_chat_what_chat_does_not_have_is_refused(at: tuple[str, str], of: WireFormat, told: Any) -> None:
    with pytest.raises(RequestError, match=next(iter(told))):
        fitted(of, at, as_chat=True, **told)


def test_called_as_chat_hints_are_left_out_and_the_simulator_takes_the_rest() -> None:
    hints = {"store": True, "truncation": "auto", "prompt_cache_key": "k"}
    asked = {**hints, "text": {"verbosity": "low"}, "temperature": 0.1, "top_p": 0.2, "max_output_tokens": 3}
    request, left_out = fitted(OPENAI_RESPONSES, SIM, as_chat=True, **asked)
    assert {"temperature", "top_p", "max_output_tokens"} <= request.keys()
    assert left_out == (*hints, "text.verbosity")
    assert fitted(ANTHROPIC_MESSAGES, SIM, as_chat=True, stop_sequences=["END"]).request["stop_sequences"] == ["END"]


@pytest.mark.parametrize("effort", ["bogus", "x" * 1_000_000])
def test_an_effort_that_no_provider_knows_is_the_calls_to_refuse(effort: str) -> None:
    request, left_out = fitted(OPENAI_CHAT, CLAUDE, temperature=0.5, reasoning_effort=effort)
    assert request["temperature"] == 0.5
    assert left_out == ()


def test_a_format_that_is_not_translated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TRANSLATED_FORMATS, EMBEDDINGS.name)
    with pytest.raises(RequestError) as raised:
        fitted(EMBEDDINGS, ("cohere", "embed-v4"), input="Hello")
    assert (raised.value.status, raised.value.param) == (400, "model")
    assert "/v1/embeddings" in raised.value.message
