"""What people read in place of a session's id."""

import pytest

from streamviz.proxy.labels import label_of

REMINDER = "<system-reminder>\nToday is Friday.\n</system-reminder>"


def _said(*texts: str) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": text} for text in texts]}]}


@pytest.mark.parametrize(
    "texts",
    [
        ("Mend the build",),
        (REMINDER, "Mend the build"),
        (f"{REMINDER}\n{REMINDER} Mend the build",),
        ("<environment_context>\n<cwd>/home</cwd>\n</environment_context>", "Mend  the\nbuild"),
    ],
)
def test_a_label_is_a_persons_first_words(texts: tuple[str, ...]) -> None:
    assert label_of(_said(*texts), "messages") == "Mend the build"


def test_words_come_from_the_first_message_that_has_any() -> None:
    items = [*_said(REMINDER)["messages"], {"role": "user", "content": "Mend the build"}]
    assert label_of({"input": items}, "input") == "Mend the build"


@pytest.mark.parametrize("text", ["<b>bold</b> words", "<system-reminder> that never ends", "<a-b></c-d>"])
def test_what_is_no_element_of_an_agent_stays(text: str) -> None:
    assert label_of(_said(text), "messages") == text
