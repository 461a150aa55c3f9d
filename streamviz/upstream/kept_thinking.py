"""Whether clients have kept the thinking before their calls, which Anthropic's models want to see again."""

from collections.abc import Callable, Sequence

from streamviz.core.json_value import JsonObject, as_text, objects
from streamviz.core.wire.signed_thinking import is_marked
from streamviz.upstream.provider_formats import speaks_messages
from streamviz.upstream.targets import Target


def wants_thinking_back(target: Target, fields: JsonObject) -> bool:
    """Whether this turn has calls without the thinking before them. Anthropic's models want to see that as long as they
    are to think, and clients may not have kept it."""
    if not speaks_messages(target):
        return False
    for item in _this_turn(objects(fields.get("input")), _is_asked):
        if item.get("type") == "reasoning" and is_marked(item.get("encrypted_content")):
            return False
        if as_text(item.get("type")).endswith("_call"):
            return True
    return False


def wants_thinking_blocks(target: Target, fields: JsonObject) -> bool:
    """The same for clients of chat, few of which keep `thinking_blocks`."""
    if not speaks_messages(target):
        return False
    called = (each for each in _this_turn(objects(fields.get("messages")), _is_users) if each.get("tool_calls"))
    first = next(called, None)
    return first is not None and not first.get("thinking_blocks")


def _this_turn(said: Sequence[JsonObject], begins: Callable[[JsonObject], bool]) -> Sequence[JsonObject]:
    """What was said since a person last spoke."""
    return said[max((at for at, each in enumerate(said) if begins(each)), default=0) :]


def _is_asked(item: JsonObject) -> bool:
    return item.get("role") not in (None, "assistant")


def _is_users(message: JsonObject) -> bool:
    return message.get("role") == "user"
