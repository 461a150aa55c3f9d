"""Requests of Gemini's generateContent: what policies read in them, and their conversion to chat requests."""

from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.request import ModelCall
from streamviz.core.request_parts import tools_in
from streamviz.core.wire.gemini_as_chat import as_chat
from streamviz.core.wire.gemini_calls import as_call
from streamviz.core.wire.gemini_schemas import as_json_schema


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


CALL = {"functionCall": {"name": "f", "args": {"a": 1}}}
RESULT = {"functionResponse": {"name": "f", "response": {"b": "two"}}}


def test_the_path_decides_over_the_body() -> None:
    asked = as_call({"model": "other", "stream": False, "contents": []}, "gemini/m", is_streaming=True)
    assert asked == {"model": "gemini/m", "stream": True, "contents": []}


def test_members_have_one_name_each() -> None:
    asked = as_call({"system_instruction": 1, "generation_config": 2, "contents": user()}, "m", is_streaming=False)
    assert asked["systemInstruction"] == 1
    assert asked["contents"] == [user()]
    with pytest.raises(RequestError) as raised:
        as_call({"system_instruction": 1, "systemInstruction": 2}, "m", is_streaming=False)
    assert raised.value.status == 400


def test_policies_read_all_turns() -> None:
    said = [user({"text": "Hi"}), model(CALL, {"text": "ok"}), user(RESULT, {"text": "And?"})]
    asked = {"systemInstruction": {"parts": [{"text": "Be."}]}, "contents": said}
    turns = ModelCall("gemini", asked).turns
    assert [(turn.role, turn.texts) for turn in turns] == [
        ("system", ("Be.",)), ("user", ("Hi",)), ("assistant", ("f", "a", "ok")), ("tool", ("f", "b", "two")),
        ("user", ("And?",)),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["functionDeclarations", "function_declarations"])
def test_policies_know_the_tools(name: str) -> None:
    schema = {"type": "OBJECT", "properties": {"type": {"type": "STRING", "nullable": True}}}
    call = ModelCall("gemini", {"tools": [{name: [{"name": "f", "parameters": schema}, {"name": "g"}]}]})
    want = {"type": "object", "properties": {"type": {"type": ["string", "null"], "nullable": True}}}
    assert call.tool_schemas == {"f": [want]}
    assert call.offers("f")
    assert call.offers("g")


def test_policies_know_tools_under_either_name_of_their_list() -> None:
    asked = {"functionDeclarations": [{"name": "f"}], "function_declarations": [{"name": "g"}]}
    assert ModelCall("gemini", {"tools": [asked]}).tool_names == ["f", "g"]
    assert [name for name, _ in tools_in([asked])] == ["f", "g"]
    chat: Any = as_chat({"contents": [], "tools": [asked]})
    assert [tool["function"]["name"] for tool in chat["tools"]] == ["f", "g"]


def test_a_schema_in_googles_words_means_the_same_in_json_schemas() -> None:
    one = {"type": "STRING", "nullable": True}
    told = {
        "list": {"type": "ARRAY", "minItems": "1", "maxItems": 3, "items": {"type": "TYPE_UNSPECIFIED"}},
        "minItems": {"type": "STRING", "maxLength": "many"},
        "choice": {**one, "enum": ["a"]},
        "either": {"nullable": True, "anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
    }
    made: Any = as_json_schema({"type": "OBJECT", "properties": told})
    assert made["properties"] == {
        "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": {}},
        "minItems": {"type": "string", "maxLength": "many"},
        "choice": {"type": ["string", "null"], "nullable": True, "enum": ["a", None]},
        "either": {"nullable": True, "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
    }


def test_googles_schemas_may_spell_their_members_in_either_way() -> None:
    one = {"min_length": "1", "max_length": 2}
    made: Any = as_json_schema({"any_of": [{"properties": {"min_items": one}}], "additional_properties": False})
    assert made == {
        "anyOf": [{"properties": {"min_items": {"minLength": 1, "maxLength": 2}}}], "additionalProperties": False,
    }  # fmt: skip


def test_names_of_a_clients_own_stay_as_they_are() -> None:
    schema = {
        "dependentRequired": {"credit_card": ["cvc_code"]},
        "dependencies": {"credit_card": ["cvc_code"]},
        "discriminator": {"mapping": {"my_cat": "#/$defs/my_cat"}},
    }
    assert as_json_schema(schema) == schema


def test_values_in_googles_schemas_are_left_as_they_are() -> None:
    value = {"type": "STRING", "nullable": True, "minItems": "1"}
    schema = {"default": value, "example": [value], "examples": [value], "const": value, "enum": [value, "A"]}
    assert as_json_schema(schema) == schema
    names = {name: {"type": "STRING"} for name in schema}
    made: Any = as_json_schema({"properties": names, "$defs": names, "items": [{"properties": names}]})
    wanted = {name: {"type": "string"} for name in schema}
    assert made == {"properties": wanted, "$defs": wanted, "items": [{"properties": wanted}]}


def test_turns_become_messages_of_chat() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    thought = {"text": "hm", "thought": True}
    chat: Any = as_chat(
        {
            "systemInstruction": {"parts": [{"text": "Be."}, {"text": "Do."}]},
            "contents": [user({"text": "Hi"}, image), model(thought, CALL, CALL), user(RESULT, RESULT, {"text": "?"})],
            "generationConfig": {"maxOutputTokens": 5, "top_p": 0.5, "responseMimeType": "application/json"},
            "safetySettings": [],
        }
    )
    system, first, answer, one, two, last = chat["messages"]
    assert system == {"role": "system", "content": "Be.\n\nDo."}
    assert first["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    assert answer["content"] is None
    ids = [call["id"] for call in answer["tool_calls"]]
    assert len(set(ids)) == 2
    assert [one["tool_call_id"], two["tool_call_id"]] == ids
    assert last == {"role": "user", "content": [{"type": "text", "text": "?"}]}
    assert (chat["max_tokens"], chat["top_p"], chat["response_format"]) == (5, 0.5, {"type": "json_object"})


@pytest.mark.parametrize(
    ("config", "want"),
    [
        ({"mode": "ANY"}, "required"),
        ({"mode": "any"}, "required"),
        ({"mode": "VALIDATED"}, "auto"),
        ({"mode": "NONE"}, "none"),
        ({"allowed_function_names": ["f"]}, {"type": "function", "function": {"name": "f"}}),
        ({"mode": "ANY", "allowedFunctionNames": ["f"]}, {"type": "function", "function": {"name": "f"}}),
    ],
)
@pytest.mark.parametrize("name", ["functionCallingConfig", "function_calling_config"])
def test_the_choice_of_tools_becomes_that_of_chat(config: Any, want: Any, name: str) -> None:
    tools = [{"functionDeclarations": [{"name": "f", "description": "d"}]}]
    chat = as_chat({"contents": [], "tools": tools, "toolConfig": {name: config}})
    assert chat["tool_choice"] == want
    assert chat["tools"] == [{"type": "function", "function": {"name": "f", "description": "d"}}]


@pytest.mark.parametrize("name", ["functionResponse", "function_response"])
def test_pictures_of_a_tool_are_said_behind_its_result(name: str) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    shown = {name: {"name": "f", "response": {"ok": True}, "parts": [picture]}}
    chat: Any = as_chat({"contents": [model(CALL), user(shown, {"text": "And?"})]})
    _, result, said = chat["messages"]
    assert result["content"] == '{"ok":true}'
    assert [part.get("text", part["type"]) for part in said["content"]] == ["What f shows:", "image_url", "And?"]


@pytest.mark.parametrize("parts", [[], [{"text": ""}], [{"text": "I look.", "thought": True}]])
def test_an_answer_that_says_nothing_is_left_out_in_chat(parts: list[Any]) -> None:
    """For example one that was stopped while the model was thinking. OpenAI refuses an answer with neither text nor
    calls."""
    chat: Any = as_chat({"contents": [user({"text": "Hi"}), model(*parts), user({"text": "You"})]})
    assert [message["role"] for message in chat["messages"]] == ["user", "user"]


def test_a_result_that_is_sent_twice_is_said_once() -> None:
    """Gemini CLI does this after it resumes a conversation; other vendors refuse it."""
    call, result = ({name: {**part[name], "id": "c1"}} for part in (CALL, RESULT) for name in part)
    again = [model(call), user(result, {"functionResponse": {"name": "f", "id": "c1", "response": {"b": "three"}}})]
    chat: Any = as_chat({"contents": [model(call), user(result, result), *again]})
    assert [message.get("content") for message in chat["messages"]] == [None, '{"b":"two"}'] * 2


@pytest.mark.parametrize("system", ["Be.", ["Be."], {"text": "Be."}, {"parts": "Be."}, {"parts": [{"text": "Be."}]}])
def test_instructions_are_said_however_they_come(system: Any) -> None:
    chat: Any = as_chat({"systemInstruction": system, "contents": ["Hi", user("You")]})
    instructions, *said = chat["messages"]
    assert instructions == {"role": "system", "content": "Be."}
    assert [part["text"] for message in said for part in message["content"]] == ["Hi", "You"]


@pytest.mark.parametrize(
    "asked",
    [
        {"cachedContent": "c"},
        {"systemInstruction": {"parts": [{"text": "Be."}, {"inlineData": {"mimeType": "image/png", "data": "AA=="}}]}},
        {"contents": [user({"functionResponse": {"name": "f", "parts": [{"fileData": {"fileUri": "u"}}]}})]},
        {"tools": [{"functionDeclarations": [{"name": "f"}]}],
         "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED", "allowedFunctionNames": ["f"]}}},
        {"tools": [{"functionDeclarations": [{"name": "f"}]}],
         "toolConfig": {"functionCallingConfig": {"mode": "NO_SUCH_MODE"}}},
        {"tools": [{"googleSearch": {}}]},
        {"generationConfig": {"speechConfig": {}}},
        {"contents": [user({"fileData": {"fileUri": "u"}})]},
        {"contents": [model({"executableCode": {}})]},
        {"tools": [{"functionDeclarations": [{"name": "f"}]}],
         "toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["a", "b"]}}},
    ],
)  # fmt: skip
def test_what_chat_has_no_words_for_is_refused(asked: Any) -> None:
    with pytest.raises(RequestError) as raised:
        as_chat(asked)
    assert (raised.value.status, raised.value.code) == (400, "unsupported_parameter")
