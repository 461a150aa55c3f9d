"""What tells OpenAI's responses API that a call was not carried out: for each type of call, the item that the API
wants.

A request that continues an answer is refused until each call in it has one.
"""

from collections.abc import Callable

from streamviz.core.calls import LEGACY_CALL
from streamviz.core.json_value import JsonObject, as_object, as_text

# The output of a call that was held when the answer ended, or that came after such a call.
UNDECIDED = "[Not carried out: the answer ended before it was allowed.]"
# The output of a call that came after the point where a policy halted the answer.
HALTED = "[Not carried out: a policy halted the answer before it.]"
# A computer call's output is a picture: an empty one, 32 pixels wide and high.
_NO_PICTURE = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAAFklEQVR42mP4TwAwjCoYVTCqYKQqAAA/aPwuqUTQyAAAAABJRU5ErkJggg=="
)
# A search made by the provider itself has only its item's id, and waits for no output.
_OF_ITEMS = "tsc_"


def outputs_for(label: str, id: str, why: str) -> list[JsonObject]:
    """The outputs for a call with this label and id; none if its provider waits for none, or if it has no id."""
    make = _OUTPUTS.get(label or LEGACY_CALL)
    return [] if make is None or not id else make(id, why)


def answered_by(item: object) -> str:
    """The id of the call whose output this item is; empty if it is not an output."""
    told = as_object(item)
    return as_text(told.get("call_id")) or as_text(told.get("approval_request_id"))


def _plain(type: str) -> Callable[[str, str], list[JsonObject]]:
    return lambda call, why: [{"type": type, "call_id": call, "output": why}]


def _patch(id: str, why: str) -> list[JsonObject]:
    return [{"type": "apply_patch_call_output", "call_id": id, "status": "failed", "output": why}]


def _shell(id: str, why: str) -> list[JsonObject]:
    ended = {"stdout": "", "stderr": why, "outcome": {"type": "exit", "exit_code": 1}}
    return [{"type": "shell_call_output", "call_id": id, "output": [ended]}]


def _computer(id: str, why: str) -> list[JsonObject]:
    picture = {"type": "computer_screenshot", "image_url": _NO_PICTURE}
    said: JsonObject = {"type": "message", "role": "developer", "content": why}
    return [{"type": "computer_call_output", "call_id": id, "output": picture}, said]


def _search(id: str, why: str) -> list[JsonObject]:
    found = {"execution": "client", "status": "completed", "tools": []}
    return [] if id.startswith(_OF_ITEMS) else [{"type": "tool_search_output", "call_id": id, **found}]


def _approval(id: str, why: str) -> list[JsonObject]:
    return [{"type": "mcp_approval_response", "approval_request_id": id, "approve": False, "reason": why}]


_OUTPUTS = {
    LEGACY_CALL: _plain("function_call_output"),
    "custom_tool_call": _plain("custom_tool_call_output"),
    "local_shell_call": _plain("local_shell_call_output"),
    "apply_patch_call": _patch,
    "shell_call": _shell,
    "computer_call": _computer,
    "tool_search_call": _search,
    "mcp_approval_request": _approval,
}
