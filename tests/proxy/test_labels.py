"""The labels that people see in place of a session's id."""

from typing import Any

import pytest

from streamviz.proxy.labels import label_of

REMINDER = "<system-reminder>\nToday is Friday.\n</system-reminder>"


@pytest.mark.parametrize(
    ("turns", "part", "label"),
    [
        ("messages", {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, "[image] What is it?"),
        ("messages", {"type": "input_audio", "input_audio": {"data": "A" * 40}}, "[audio] What is it?"),
        ("messages", {"type": "text", "text": "[image of a cat]"}, "[image of a cat] What is it?"),
    ],
)
def test_of_an_image_it_says_that_there_is_one(turns: str, part: dict[str, Any], label: str) -> None:
    asked = {"role": "user", "content": [part, {"type": "text", "text": "What is it?"}]}
    assert label_of({turns: [asked]}, turns) == label


def _said(*texts: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": text} for text in texts]}]}


@pytest.mark.parametrize(
    "texts",
    [
        ("Mend the build",),
        (REMINDER, "Mend the build"),
        (f"{REMINDER}\n{REMINDER} Mend the build",),
        ("<timestamp>Friday</timestamp>\n<user_query>\nMend the build\n</user_query>",),
        ("<user_query>\nMend the build\n</user_query>",),
        ("<task>\nMend the build\n</task>", "<environment_details>\n# Files\n</environment_details>"),
        ("<session>\nMend the build\n</session>",),
        ("Mend the build\n", "[Request interrupted by user]"),
        ("<environment_context>\n<cwd>/home</cwd>\n</environment_context>", "Mend  the\nbuild"),
    ],
)
def test_a_label_is_a_persons_first_words(texts: tuple[str, ...]) -> None:
    assert label_of(_said(*texts), "messages") == "Mend the build"


def test_aiders_examples_and_files_are_not_a_persons_words() -> None:
    said = (
        "Change the greeting to be more casual",
        "I switched to a new code base. Please don't consider the above files or try to edit them any longer.",
        "I have *added these files to the chat* so you can go ahead and edit them.\n\na.py\n",
        "Mend the build",
    )
    messages = [message for text in said for message in _said(text)["messages"]]
    assert label_of({"messages": messages}, "messages") == "Mend the build"


def test_words_come_from_the_first_message_that_has_any() -> None:
    items = [*_said(REMINDER)["messages"], {"role": "user", "content": "Mend the build"}]
    assert label_of({"input": items}, "input") == "Mend the build"


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        ("messages", [("user", "Generate a title for this conversation:\n"), ("user", "Mend the build")]),
        ("contents", [("user", "This is the Gemini CLI. We are setting up the context for our chat.\nToday is Friday."),
                      ("model", "Got it. Thanks for the context!"), ("user", "Mend the build")]),
        ("messages", [("user", 'Error: Your custom model "gpt" appears to be an OpenAI model, but is configured with '
                       'provider "generic-chat-completion-api".'), ("user", "Mend the build")]),
        ("contents", [(None, "Mend the build")]),
        ("messages", [("system", "Be short."), ("user", "Mend the build")]),
        ("messages", [("user", "This session is being continued from a previous conversation that ran out of context. "
                       "The summary below covers the earlier portion of the conversation.\n\nFive steps were done."),
                      ("user", "<command-name>/compact</command-name>"), ("user", "Mend the build")]),
    ],
)  # fmt: skip
def test_what_an_agent_says_itself_is_no_label(turns: str, said: list[tuple[str | None, str]]) -> None:
    content = "parts" if turns == "contents" else "content"
    told = [
        {"role": role, content: [{"text": text} if role is None else {"type": "text", "text": text}]}
        for role, text in said
    ]
    assert label_of({turns: told}, turns) == "Mend the build"


@pytest.mark.parametrize("text", ["quota", "Warmup"])
def test_a_call_of_an_agents_own_has_no_label(text: str) -> None:
    assert label_of(_said(text), "messages") == ""


@pytest.mark.parametrize("text", ["<b>bold</b> words", "<system-reminder> that never ends", "<a-b></c-d>"])
def test_what_is_no_element_of_an_agent_stays(text: str) -> None:
    assert label_of(_said(text), "messages") == text
