"""What tells a model of denied calls in Anthropic's format, where no text may follow a call that the client got.

The model is told in the client's next request, in texts after the results of that answer's other calls. Anthropic's
API takes texts there, but not before results. What comes before them stays in the prompt cache, except for models that
forget their thinking at each text of a user's (Haiku, and those before Opus 4.5 and Sonnet 4.6).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.call_runners import Runner
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, objects
from streamviz.core.request_outline import NOTICE
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.denied_outputs import HALTED
from streamviz.proxy.marks import looks_random

# The model can go on without: no request is refused because none is added.
IS_RECORDED = False
_LONGEST_NAME = 100
# Of an answer: a model may try a call any number of times.
_MOST = 50
# A model may call anything, and would read it as the user's words.
_NOT_OF_A_NAME = re.compile(r"[^\w.-]")


def told_of(stream: LiveStream) -> tuple[tuple[str, ...], list[JsonObject]]:
    """The id of the last call that the client got, whose result will be in its next request, and a text for each denied
    call that followed one, up to 50; neither if there are none, or if other conversations may have calls with that id,
    as with models that number them."""
    got, notices = "", list[JsonObject]()
    instead = stream.context.instead
    for block in stream.state.blocks if instead else ():
        if not isinstance(block, ToolCallStreamBlock):
            continue
        had = instead.get(block.ordinal)
        if had is not None and had.kind is not BlockKind.TOOL_CALL:
            notices += [_notice(block.name, had.text or HALTED)] if got and len(notices) < _MOST else []
        elif block.runner is Runner.CLIENT:
            got = block.id
    return ((got,), notices) if notices and looks_random(got) else ((), [])


def names_in(fields: JsonObject) -> list[str]:
    """The ids of the calls whose results end a request's messages."""
    said = objects([part for turn in _last_turns(fields) for part in as_list(turn.get("content"))])
    return list(dict.fromkeys(id for part in said if (id := as_text(part.get("tool_use_id")))))


def with_told(fields: JsonObject, told: Sequence[JsonObject]) -> JsonObject:
    """A request's fields with these texts at the end of the user's last message, unless it has them, as a request has
    that is sent again from the record."""
    messages = as_list(fields.get("messages"))
    at = max(place for place, message in enumerate(messages) if as_object(message).get("role") == "user")
    message = as_object(messages[at])
    content = message.get("content")
    had = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
    said = {as_text(part.get("text")) for part in objects(had)}
    left = [notice for notice in told if as_text(notice["text"]) not in said]
    with_them = {**message, "content": [*had, *left]}
    return {**fields, "messages": [*messages[:at], with_them, *messages[at + 1 :]]} if left else fields


def _last_turns(fields: JsonObject) -> Iterator[JsonObject]:
    """What was said since the last answer, in one message or in several, the last one first."""
    messages = map(as_object, reversed(as_list(fields.get("messages"))))
    since = takewhile(lambda message: message.get("role") != "assistant", messages)
    return (message for message in since if message.get("role") == "user")


def _notice(name: str, why: str) -> JsonObject:
    called = _NOT_OF_A_NAME.sub("_", name[:_LONGEST_NAME])
    return {"type": "text", "text": f"{NOTICE}{called} was not carried out] {why}"}
