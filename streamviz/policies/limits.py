"""limits: caps what a stream, a session or an API key may use."""

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.context import SessionCounts, StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.core.policy import Policy, Reading, Tail
from streamviz.core.request import ModelCall
from streamviz.core.usage import CHARACTERS_A_TOKEN
from streamviz.core.verdicts import Decision, Verdict
from streamviz.policies.parameters import check, number

# Looking up a price takes a hundred times as long as everything else, so it is done once per this many tokens.
PRICED_TOKENS = 16
_OF_TOKENS = ("output_tokens", "cost")
_NO_PRICE = "what the model costs is not known"
PERIODS = ("hour", "day", "month")
# Parameters that ask for the answer later, at an address of its own: OpenAI's responses and xAI's chat.
_LATER = ("background", "deferred")
_AMOUNT: JsonObject = {"type": "number", "exclusiveMinimum": 0}
_SHARED: JsonObject = {
    "blocks": {**_AMOUNT, "description": "Blocks of any kind."},
    "tool_calls": {**_AMOUNT, "description": "Tool calls."},
    "output_tokens": {**_AMOUNT, "description": "Output tokens."},
    "cost": {**_AMOUNT, "description": "US dollars."},
    "seconds": {**_AMOUNT, "description": "Duration in seconds."},
}


class Limits(Policy):
    """Halts a stream that goes beyond `stream`, and refuses the next request of a session that is beyond `session`, or
    of an API key that is beyond `key` in the current hour, day or month (`key_period`, UTC).

    Each can limit `blocks`, `tool_calls`, `output_tokens` and `cost` (US dollars); a stream and a session also
    `seconds`; a session and a key also `streams`. Until the provider reports the tokens, they are estimated at four
    characters each, and the cost with them; the reason says so. If the model's price is unknown, a limit on cost fails;
    for a session or key it also fails on later requests. `seconds` are checked whenever something comes from upstream.
    Sessions and keys are counted over all workers, a session from its beginning, a key from the start of the hour, day
    or month, also while the policy was off; if it is only for some models or keys, their calls alone. What a running
    stream may still cost and write is reserved: the most that its request asks for, or that its model can write, or
    else all that is left; its blocks and tool calls count once it is over. The stream that reaches a limit of its
    session or key is carried to its end. With a limit on tool calls, calls are held until they are whole, and limits
    are checked while a held block grows, too. What passes unread (files, images, …) counts as streams of its key; what
    else it adds up to cannot be known, so a policy with any other limit refuses it, as well as an answer that is to
    come later (`background`, `deferred`).
    """

    kind = "limits"
    parameters_schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "stream": {
                "type": "object",
                "additionalProperties": False,
                "properties": _SHARED,
                "description": "Limits of one stream.",
            },
            "session": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"streams": {**_AMOUNT, "description": "Streams."}, **_SHARED},
                "description": "Limits of a session.",
            },
            "key": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "streams": {**_AMOUNT, "description": "Requests, also of files, images and the like."},
                    **{name: value for name, value in _SHARED.items() if name != "seconds"},
                },
                "description": "Limits of an API key.",
            },
            "key_period": {"enum": list(PERIODS), "default": "day", "description": "What a key's limits are for."},
            "text": {"type": "string", "description": "Text the client gets at the end of a halted stream."},
        },
    }
    look_back = 0
    is_quick = True

    def __init__(self, parameters: JsonObject) -> None:
        check(parameters, self.parameters_schema)
        self._stream = _amounts(parameters.get("stream"))
        self._session = _amounts(parameters.get("session"))
        self._key = _amounts(parameters.get("key"))
        self._period = as_text(parameters.get("key_period")) or "day"
        self._text = as_text(parameters.get("text"))
        self.counts_session = bool(self._session)
        self.counts_key = self._period if self._key else ""
        self.counts_cost = "cost" in self._session or "cost" in self._key
        self._counts_answers = any(each.keys() - {"streams"} for each in (self._stream, self._session, self._key))
        self.judges_unread = self._key.keys() == {"streams"} and not (self._stream or self._session)

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict | None:
        verdict = self._judged_later(request) if self._counts_answers else None
        if self._session and verdict is None:
            verdict = self._judged(_Counted("session", self._session), context.counts_of(self), context)
        if self._key and (verdict is None or verdict.decision is Decision.ALLOW):
            counts = context.counts_of(self, self._period)
            verdict = self._judged(_Counted("key", self._key, f" a {self._period}"), counts, context)
        return verdict

    def _judged_later(self, request: ModelCall) -> Verdict | None:
        name = next((name for name in _LATER if request.fields.get(name)), "")
        if not name:
            return None
        reason = f"The answer would come later (`{name}`), where it is not counted."
        return Verdict(Decision.DENY, reason, self._text, {"parameter": name})

    def _judged(self, counted: "_Counted", counts: SessionCounts, context: StreamingContext) -> Verdict:
        if counts.trouble:
            raise ValueError(counts.trouble)
        reached = _come_to(counts, context)
        for name, most in counted.limits.items():
            if reached[name] >= most:
                is_estimate = name in _OF_TOKENS and counts.is_estimate
                return self._over(Decision.DENY, counted, name, reached[name], is_estimate=is_estimate)
            if name in _OF_TOKENS and counts.unbounded:
                return self._none_left(counted, name)
        if "cost" in counted.limits and counts.unpriced:
            raise ValueError(_NO_PRICE)
        return Verdict(Decision.ALLOW)

    def _none_left(self, counted: "_Counted", name: str) -> Verdict:
        words, most = name.replace("_", " "), counted.limits[name]
        reason = (
            f"A running stream may use what the {counted.what} has left of its {words}; the limit is"
            f" {most:g}{counted.per}."
        )
        return Verdict(Decision.DENY, reason, self._text, {"limit": name, "most": most})

    def watches(self, block: StreamBlock) -> bool:
        return bool(self._stream)

    def holds(self, block: StreamBlock) -> bool:
        is_call = "tool_calls" in self._stream and block.kind is BlockKind.TOOL_CALL
        # A block too many may never grow, and without a delta it is judged only if it is held.
        return is_call or block.ordinal + 1 > self._stream.get("blocks", inf)

    def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
        verdict = self.on_held(block, context)
        return Reading(len(tail.text)) if verdict is None else Reading(tail.begin, verdict=verdict)

    def on_held(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        for name, most in self._stream.items():
            reached = self._reached(name, block, context)
            if reached > most:
                is_estimate = name in _OF_TOKENS and not _is_told(context.state, block)
                counted = _Counted("stream", self._stream)
                return self._over(Decision.HALT, counted, name, reached, is_estimate=is_estimate)
        return None

    def _reached(self, name: str, block: StreamBlock, context: StreamingContext) -> float:
        match name:
            case "blocks":
                return block.ordinal + 1
            case "tool_calls":
                return _calls_up_to(block, context.state, context.memory_of(self))
            case "seconds":
                return context.seconds
            case "output_tokens":
                return _output_tokens(context.state, block)
            case _:
                return _cost(context, block, context.memory_of(self))

    def _over(
        self, decision: Decision, counted: "_Counted", name: str, reached: float, *, is_estimate: bool = False
    ) -> Verdict:
        words, most = name.replace("_", " "), counted.limits[name]
        about = ", as estimated" if is_estimate else ""
        reason = f"The {counted.what} is at {reached:g} {words}{about}; the limit is {most:g}{counted.per}."
        return Verdict(decision, reason, self._text, {"limit": name, "most": most, "reached": reached})


class _Counted(NamedTuple):
    """What is limited, its limits, and what period they are for, in words."""

    what: str
    limits: Mapping[str, float]
    per: str = ""


def _come_to(counts: SessionCounts, context: StreamingContext) -> dict[str, float]:
    """What the counts amount to for each limit, with what running streams have reserved."""
    return {
        "streams": counts.streams + counts.running,
        "blocks": counts.blocks,
        "tool_calls": counts.tool_calls,
        "output_tokens": counts.output_tokens + counts.reserved_tokens,
        "cost": counts.cost + counts.reserved_cost,
        "seconds": (context.now() - counts.began_at) / 1_000_000 if counts.began_at else 0.0,
    }


def _amounts(value: object) -> dict[str, float]:
    amounts = {name: number(amount) for name, amount in as_object(value).items()}
    return {name: amount for name, amount in amounts.items() if amount is not None}


def _calls_up_to(block: StreamBlock, state: StreamState, memory: dict[str, object]) -> int:
    """How many tool calls there are up to and including `block`; each block is looked at only once."""
    counts = memory.setdefault("calls", [0])
    assert isinstance(counts, list)
    for each in state.blocks[len(counts) - 1 : block.ordinal + 1]:
        counts.append(counts[-1] + (each.kind is BlockKind.TOOL_CALL))
    return int(counts[block.ordinal + 1])


def _is_told(state: StreamState, block: StreamBlock) -> bool:
    """Whether upstream has reported its final usage: Anthropic's format also reports a number at the start, and of
    several choices this one may go on."""
    return state.usage is not None and block.choice in state.finish_reasons


def _output_tokens(state: StreamState, block: StreamBlock) -> int:
    """As upstream reported them, otherwise estimated."""
    told = state.tokens.output if _is_told(state, block) else None
    return state.length // CHARACTERS_A_TOKEN if told is None else told


def _cost(context: StreamingContext, block: StreamBlock, memory: dict[str, object]) -> float:
    """Raises ValueError if the price is unknown."""
    said, known = _output_tokens(context.state, block), memory.get("priced")
    if isinstance(known, tuple) and said - int(known[0]) < PRICED_TOKENS:
        return float(known[1])
    told = context.state.tokens
    asked = _estimate(context, memory) if told.input is None else told.input
    cost = context.price(told._replace(input=asked, output=said))
    if cost is None:
        raise ValueError(_NO_PRICE)
    memory["priced"] = (said, cost)
    return cost


def _estimate(context: StreamingContext, memory: dict[str, object]) -> int:
    """The estimated tokens of the request, which may be long and is measured only once."""
    asked = memory.get("asked")
    if not isinstance(asked, int):
        asked = memory["asked"] = context.request.length // CHARACTERS_A_TOKEN
    return asked
