"""Lists of models, in the shape of each format."""

from typing import Any

from streamviz.core.wire import ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT
from streamviz.proxy.model_shapes import shape_for

NAMES = ["fast", "gemini/gemini-2.5-flash"]


def test_openais_list_names_models_and_their_owners() -> None:
    listed: Any = shape_for(OPENAI_CHAT).listing(NAMES)
    assert listed["object"] == "list"
    assert listed["data"][1] == {
        "id": "gemini/gemini-2.5-flash", "object": "model", "created": 0, "owned_by": "gemini",
    }  # fmt: skip


def test_anthropics_list_says_where_it_begins_and_ends() -> None:
    listed: Any = shape_for(ANTHROPIC_MESSAGES).listing(NAMES)
    assert (listed["first_id"], listed["last_id"], listed["has_more"]) == (*NAMES, False)
    assert {each["type"] for each in listed["data"]} == {"model"}
    assert shape_for(ANTHROPIC_MESSAGES).listing([]) == {
        "data": [], "has_more": False, "first_id": None, "last_id": None,
    }  # fmt: skip


def test_googles_list_says_what_models_can_do() -> None:
    listed: Any = shape_for(GEMINI).listing(NAMES)
    assert [each["name"] for each in listed["models"]] == ["models/fast", "models/gemini-2.5-flash"]
    assert all("generateContent" in each["supportedGenerationMethods"] for each in listed["models"])
