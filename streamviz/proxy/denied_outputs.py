"""What tells OpenAI's responses API that a call was not carried out: for each type of call, the item that the API
wants.

A request that continues an answer by its id, or in its conversation, is refused until each call in it has one. Its
client cannot give one for a call that it never had.
"""

from collections.abc import Callable, Iterator, Sequence

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.calls import LEGACY_CALL
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, object_in
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.session_names import ADDED, conversation_of

IS_RECORDED = True

# The output of a call that was held when the answer ended, or that came after such a call.
UNDECIDED = "[Not carried out: the answer ended before it was allowed.]"
# The output of a call that came after the point where a policy halted the answer.
HALTED = "[Not carried out: a policy halted the answer before it.]"
# A computer call's output is a picture: an empty one, 32 pixels wide and high.
_NO_PICTURE = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAAFklEQVR42mP4TwAwjCoYVTCqYKQqAAA/aPwuqUTQyAAAAABJRU5ErkJggg=="
)
# OpenAI's ids have some 60 characters.
_LONGEST_ID = 200
# A search made by the provider itself has only its item's id, and waits for no output.
_OF_ITEMS = "tsc_"


def told_of(stream: LiveStream) -> tuple[tuple[str, ...], list[JsonObject]]:
    """The names by which a client may continue an answer, and the outputs for the calls in it that it does not have."""
    id, conversation = as_text(stream.head.get("id")), conversation_of(stream.context.request.fields)
    # The conversation's earlier calls have their outputs by now. An answer that broke off is in no conversation.
    names = (id, conversation) if stream.state.finish_reason in ADDED else (id,)
    return names, outputs_of(stream)


def names_in(fields: JsonObject) -> tuple[str, str]:
    """The names of the answer and the conversation that a request continues."""
    return as_text(fields.get("previous_response_id")), conversation_of(fields)


def with_told(fields: JsonObject, told: Sequence[JsonObject]) -> JsonObject:
    """A request's fields with these outputs before what it says, except for calls to which it has one."""
    input = fields.get("input")
    said = [{"role": "user", "content": input}] if isinstance(input, str) else as_list(input)
    known = set(filter(None, map(answered_by, said)))
    left = list(_left(told, known))
    return {**fields, "input": [*left, *said]} if left else fields


def outputs_of(stream: LiveStream) -> list[JsonObject]:
    """The outputs for the calls in an answer that its client does not have."""
    told = [(block, why) for block, why in _not_given(stream) if len(block.id) <= _LONGEST_ID]
    carried_out = _carried_out(stream) if told else ()
    left = ((block, why) for block, why in told if block.id not in carried_out)
    return [output for block, why in left for output in outputs_for(block.label, block.id, why)]


def outputs_for(label: str, id: str, why: str) -> list[JsonObject]:
    """The outputs for a call with this label and id; none if its provider waits for none, or if it has no id."""
    make = _OUTPUTS.get(label or LEGACY_CALL)
    return [] if make is None or not id else make(id, why)


def answered_by(item: object) -> str:
    """The id of the call whose output this item is; empty if it is not an output."""
    told = as_object(item)
    return as_text(told.get("call_id")) or as_text(told.get("approval_request_id"))


def _not_given(stream: LiveStream) -> Iterator[tuple[ToolCallStreamBlock, str]]:
    """The calls that the client did not get, and why: all from the first one that was held when the stream ended. After
    a halt, `instead` says what the client has in their place."""
    instead, holds = stream.context.instead, {} if stream.context.halted_by else stream.context.holds
    held = [ordinal for ordinal, hold in holds.items() if hold.was_cut_short]
    first = min(held, default=len(stream.state.blocks))
    for block in stream.state.blocks if instead or held else ():
        had = instead.get(block.ordinal)
        if not isinstance(block, ToolCallStreamBlock):
            continue
        if had is not None and had.kind is not BlockKind.TOOL_CALL:
            yield block, had.text or HALTED
        elif had is None and block.ordinal >= first:
            yield block, UNDECIDED


def _carried_out(stream: LiveStream) -> set[str]:
    """The calls whose output is in the answer itself, such as those of a shell at the provider."""
    outputs = (block.text for block in stream.state.blocks if block.label == "shell_call_output")
    return {as_text(object_in(output).get("call_id")) for output in outputs}


def _left(outputs: Sequence[JsonObject], known: set[str]) -> Iterator[JsonObject]:
    """The outputs for calls that are not `known`, with the texts that follow them."""
    is_known = False
    for output in outputs:
        if call := answered_by(output):
            is_known = call in known
        if not is_known:
            yield output


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
