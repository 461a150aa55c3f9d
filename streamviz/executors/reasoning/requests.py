"""The chat requests that a run makes, derived from the client's."""

import re
from collections.abc import Sequence

from streamviz.core.errors import RequestError, UpstreamError
from streamviz.core.json_value import JsonObject, as_index, as_object, as_text, encode, objects
from streamviz.executors.reasoning.plan import PLAN_SCHEMA
from streamviz.executors.reasoning.prompts import Prompts
from streamviz.executors.tools import Tool
from streamviz.upstream.structured import Structure

# Parameters of the client's request that apply to planning too; its limits and format apply to the answer.
_PLANNING = frozenset(
    "temperature top_p seed reasoning_effort thinking user safety_identifier service_tier prompt_cache_key".split()
)
# The thinking budget, in tokens, that LiteLLM derives from an effort.
_EFFORTS = {"low": 1_024, "medium": 2_048, "high": 4_096}
# How a provider refuses the way in which JSON is asked for, and the plainer way that is tried next.
_REFUSALS = (400, 404, 415, 422)
_STRUCTURE = re.compile(
    r"response.?(format|schema|mime)|json.?(schema|object|mode)|structured.?output|output_config", re.IGNORECASE
)
_PLAINER = {Structure.SCHEMA: Structure.JSON, Structure.JSON: Structure.WORDS}
# Parameters that have no place in a request for an answer based on what was found.
NOT_ANSWERED = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "n")


def require_answerable(asked: JsonObject) -> None:
    """Raises RequestError (400) if a chat request asks for an answer that no run can give."""
    if asked.get("n") not in (None, 1):
        raise _refusal("n", "a run gives one answer")
    for name in ("tool_choice", "function_call"):
        if _wants_call(asked.get(name)):
            raise _refusal(name, "a run uses its own tools, and calls none of the client's")


def _wants_call(choice: object) -> bool:
    """Whether the choice requires a call of one of the client's tools."""
    told = as_object(choice)
    if told.get("type") == "allowed_tools":  # its mode is nested in it in chat, next to it in responses
        choice = as_object(told.get("allowed_tools", told)).get("mode")
    return choice not in (None, "none", "auto")


def _refusal(name: str, why: str) -> RequestError:
    message = f"`{name}` cannot be used in a run: {why}. Leave it or the executor out."
    return RequestError(400, message, code="unsupported_parameter", param=name)


class Requests:
    """`asked` is the client's request in the chat format; `said` are the messages that the run has added since."""

    def __init__(self, model: str, asked: JsonObject, prompts: Prompts) -> None:
        self.said: list[JsonObject] = []
        self._asked = asked
        self._prompts = prompts
        self._always: JsonObject = {"model": model, "stream": True, "stream_options": {"include_usage": True}}
        self._planning: JsonObject = {}
        self._told = ""
        self._tools: Sequence[Tool] = ()
        self._structure = Structure.WORDS

    def ask_plainly(self, error: UpstreamError) -> bool:
        """Switch to the next plainer way of asking for plans; False if there is none or the error has another cause."""
        is_about_it = error.status in _REFUSALS and _STRUCTURE.search(error.message)
        plainer = _PLAINER.get(self._structure) if is_about_it else None
        if plainer is None:
            return False
        self.plan_with(self._tools, plainer)
        return True

    def plan_with(self, tools: Sequence[Tool], structure: Structure) -> None:
        """From now on plans can use these tools, and are asked for with this structure."""
        self._tools, self._structure = tools, structure
        self._planning = {name: value for name, value in self._asked.items() if name in _PLANNING}
        if structure is Structure.SCHEMA:
            schema = {"name": "plan", "strict": True, "schema": PLAN_SCHEMA}
            self._planning["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif structure is Structure.JSON:
            self._planning["response_format"] = {"type": "json_object"}
        schema_told = "" if structure is Structure.SCHEMA else encode(PLAN_SCHEMA).decode()
        self._told = self._prompts.planning("\n".join(map(_described, tools)) or "none", schema_told)

    def hears(self, text: str, role: str = "user") -> None:
        """Add a message to the conversation."""
        self.said.append({"role": role, "content": text})

    def plan(self, tokens: int | None) -> JsonObject:
        """The request for the next step, of at most `tokens` tokens."""
        planning = (
            self._planning if tokens is None else {**_thinking_within(tokens, self._planning), "max_tokens": tokens}
        )
        system = {"role": "system", "content": self._told}
        return {**planning, "messages": [system, *self._messages, *self.said], **self._always}

    def answer(self) -> JsonObject:
        """The request for the client's answer."""
        fields = {name: value for name, value in self._asked.items() if name not in NOT_ANSWERED}
        closing = {"role": "user", "content": self._prompts.answer}
        return {**fields, "messages": [*self._messages, *self.said, closing], **self._always}

    @property
    def left_out(self) -> tuple[str, ...]:
        """The parameters of the client's request that none of these requests has."""
        return tuple(name for name in NOT_ANSWERED if name in self._asked)

    @property
    def _messages(self) -> list[JsonObject]:
        return objects(self._asked.get("messages"))


def _thinking_within(tokens: int, planning: JsonObject) -> JsonObject:
    """The same without thinking that would take all these tokens: Anthropic refuses a thinking budget that is not below
    the limit of tokens."""
    budgets = {
        "thinking": as_index(as_object(planning.get("thinking")).get("budget_tokens")),
        "reasoning_effort": _EFFORTS.get(as_text(planning.get("reasoning_effort"))),
    }
    return {name: value for name, value in planning.items() if (budgets.get(name) or 0) < tokens}


def _described(tool: Tool) -> str:
    """A tool in one line, whatever its description has in it."""
    return encode({"name": tool.name, "description": tool.description, "arguments": tool.parameters}).decode()
