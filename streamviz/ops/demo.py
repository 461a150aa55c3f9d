"""A coding agent at work, for people without one at hand: `make demo`. The simulator answers in place of its model."""

import json
import logging
from collections.abc import Iterator
from itertools import count
from time import sleep
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.verdicts import Mode
from streamviz.core.wire import OPENAI_CHAT
from streamviz.records.aggregation import aggregate_tape
from streamviz.records.models import ApiKey, Policy

log = logging.getLogger(__name__)

TASK = "tests/test_checkout.py::test_expired_cart is flaky. Find out why, fix it and push the branch."
SYSTEM = "You are a coding agent. You work in ~/work, with the tools that you are given. Explain what you do in a line."
TOOLS = {
    "read_file": ("path", "start_line", "max_lines"),
    "search_code": ("query", "path", "max_results"),
    "edit_file": ("path", "old", "new"),
    "run_shell": ("command",),
}
_RESULTS = {
    "read_file": "def test_expired_cart(cart):\n    cart.expires_at = time.time()\n    with pytest.raises(Expired):\n"
    "        cart.pay()\n",
    "search_code": "src/checkout/cart.py:41: if time.time() > self.expires_at:\n"
    "src/checkout/cart.py:42:     raise Expired(time.time() - self.expires_at)",
    "edit_file": "src/checkout/cart.py: 1 place changed",
    "run_shell": "........................................ 40 passed in 6.02s",
}
_FIRST_RUN = "............F.......................F... 2 failed, 38 passed in 6.11s"
# What a person says after a policy had the last word, and to end the run; each until the given turn.
_ANSWERS = {"Leave the working copy as it is, please.": 4, "Then leave the push to me. What did you find?": 6}
_TURNS = 7
_FAILS_AT = 2
_KEY = "demo agent"
_BETWEEN_RUNS = 20.0
_SECONDS_TO_DECIDE = 45
MODEL = "sim/agent"


def prepare() -> str:
    """Enforce the policies that the agent runs into, and return its key. One of them may have been deleted."""
    for policy in Policy.objects.filter(name="shell-guard"):
        _enforce(policy)
    if not Policy.objects.filter(name="ask-before-push").exists():
        parameters = {"names": ["run_shell"], "arguments": [{"path": "$.command", "pattern": r"git push .*--force"}]}
        asking = {"by_hand": "deny", "by_hand_seconds": _SECONDS_TO_DECIDE, "mode": Mode.ENFORCE.value, "order": 120}
        policy = Policy(name="ask-before-push", kind="tool_rule", parameters=parameters, **asking)
        policy.save(reason="A person looks at forced pushes.")
    return _new_key()


def _new_key() -> str:
    """The secret of a new key. Keys of earlier demonstrations are revoked, not deleted, so that their streams keep the
    key's name."""
    earlier = ApiKey.objects.filter(name__regex=rf"^{_KEY}( \d+)?$")
    for key in earlier:
        key.revoke()
    taken = {key.name for key in earlier}
    names = (_KEY, *(f"{_KEY} {number}" for number in range(2, len(taken) + 2)))
    return ApiKey.objects.issue(next(name for name in names if name not in taken))[1]


def _enforce(policy: Policy) -> None:
    if policy.mode != Mode.ENFORCE.value:
        policy.mode = Mode.ENFORCE.value
        policy.save(reason="The demonstration shows what it denies.")


def play_on(base_url: str, secret: str) -> None:
    """Play one run after another, for as long as the program lasts."""
    for number in count(1):
        try:
            for _ in play(base_url, secret, f"checkout-flake-{number}"):
                pass
        except (URLError, OSError) as error:
            log.warning("the demo agent could not go on: %s", error)
        sleep(_BETWEEN_RUNS)


def play(base_url: str, secret: str, session: str, speed: str = "") -> Iterator[int]:
    """Play one run of the agent; yields the number of each turn that is over."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
    for turn in range(_TURNS):
        if turn == _FAILS_AT:
            _ask(base_url, secret, session, "sim/error-500", messages)
        state = _ask(base_url, secret, session, f"{MODEL}{speed}", messages)
        messages += _said(state, is_first=turn == 0, turn=turn)
        yield turn


def _ask(base_url: str, secret: str, session: str, model: str, messages: list[dict[str, Any]]) -> StreamState:
    body = {
        "model": model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": messages,
        "tools": list(map(_tool, TOOLS)),
    }
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json", "x-session-id": session}
    request = Request(f"{base_url}/v1/chat/completions", json.dumps(body).encode(), headers)  # noqa: S310  our own
    try:
        with urlopen(request) as answer:  # noqa: S310
            tape = answer.read()
    except HTTPError:
        tape = b""  # an agent tries again
    return aggregate_tape(OPENAI_CHAT.name, tape).state


def _tool(name: str) -> dict[str, Any]:
    properties = {each: {"type": "integer" if each.startswith(("start", "max")) else "string"} for each in TOOLS[name]}
    schema = {"type": "object", "properties": properties, "required": list(TOOLS[name])}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def _said(state: StreamState, *, is_first: bool, turn: int) -> list[dict[str, Any]]:
    """The answer and the reply to it: tool results, or what a person says."""
    calls = [block for block in state.blocks if isinstance(block, ToolCallStreamBlock)]
    text = "".join(block.text for block in state.blocks if block.kind is BlockKind.CONTENT)
    said: dict[str, Any] = {"role": "assistant", "content": text}
    if not calls:
        return [said, {"role": "user", "content": _person(turn)}]
    said["tool_calls"] = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}} for call in calls
    ]
    results = ((call.id, _result(call.name, is_first)) for call in calls)
    return [said, *({"role": "tool", "tool_call_id": call_id, "content": text} for call_id, text in results)]


def _result(name: str, is_first: bool) -> str:
    return _FIRST_RUN if is_first and name == "run_shell" else _RESULTS.get(name, "")


def _person(turn: int) -> str:
    return next((words for words, last in _ANSWERS.items() if turn < last), "Thanks.")
