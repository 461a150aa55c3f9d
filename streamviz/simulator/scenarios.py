"""The named scenarios: what the simulated provider can be asked to send."""

from collections.abc import Callable
from string import ascii_letters, ascii_uppercase, digits
from typing import NamedTuple

from streamviz.simulator import agent, reasoner
from streamviz.simulator.asked import Asked
from streamviz.simulator.author import Author, arguments_json
from streamviz.simulator.errors import ProviderError
from streamviz.simulator.prose import REFUSALS, THOUGHTS, tokens
from streamviz.simulator.shapes import Shape
from streamviz.simulator.steps import Content, Cut, Fail, Garbage, Refusal, Script, WholeTools
from streamviz.simulator.tools import dangerous_call, harmless_call, hostile_call, read_file_call

STALL_SECONDS = 30.0
SLOW_SECONDS = 12.0
HOSTILE_TEXT = (
    '<script>alert(\'content\')</script> <img src=x onerror="alert(1)"> <a href="javascript:alert(2)">here</a> '
    "{{ request.user }} {% debug %} ${7*7} <%= 7*7 %> --> ]]> '\"` \u202egnp.exe\u202c \u200fright to left\u200e "
    "zero\u200bwidth nul\x00 bell\x07 escape\x1b[31mred\x1b[0m \u2028line\u2029paragraph \ufeffbom "
    "data: [DONE]\n\nevent: message_stop\ndata: {}\n\n</textarea><svg onload=alert(3)> 👩\u200d💻 z̷̛a̸l̵g̶o̷"
)


def _content(author: Author) -> None:
    author.say()
    author.finish("stop")


def _tools(author: Author, number: int = 3) -> None:
    for call in range(number):
        author.call(call, *harmless_call(author.rng))
    author.finish("tool_calls")


def _content_then_tools(author: Author) -> None:
    author.say(24)
    _tools(author, 2)


def _long_content_then_tools(author: Author) -> None:
    author.say(400)
    _tools(author, 2)


def _thinking(author: Author) -> None:
    author.think(author.rng.choice(THOUGHTS))
    _content(author)


def _parallel_tools(author: Author) -> None:
    calls = [author.call_steps(number, *harmless_call(author.rng)) for number in range(3)]
    while any(calls):
        for steps in calls:
            author.steps += steps[:2]
            del steps[:2]
    author.finish("tool_calls")


def _refusal(author: Author) -> None:
    for piece in tokens(author.rng.choice(REFUSALS)):
        author.add(Refusal(piece))
    author.finish("refusal")


def _length(author: Author) -> None:
    author.say(64)
    author.finish("length")


def _dangerous(author: Author) -> None:
    author.say(24)
    author.call(0, *dangerous_call())
    author.finish("tool_calls")


def _dangerous_parallel(author: Author) -> None:
    author.call(0, *read_file_call())
    author.call(1, *dangerous_call())
    author.finish("tool_calls")


def _secret(author: Author) -> None:
    access_key = "AKIA" + "".join(author.rng.choices(ascii_uppercase + "234567", k=16))
    api_key = "sk-" + "".join(author.rng.choices(ascii_letters + digits, k=48))
    author.say_text(
        "The deployment reads its credentials from the environment. I found these in the old configuration: "
        f"AWS_ACCESS_KEY_ID={access_key} and the model provider's key {api_key}. Please rotate both of them; they are "
        "in the history of the repository, and anybody with read access has seen them."
    )
    author.finish("stop")


def _error_midstream(author: Author) -> None:
    author.say(30)
    author.add(Fail("The server had an error while processing your request. Sorry about that!"))


def _stall(author: Author) -> None:
    author.say(20)
    author.pause(STALL_SECONDS)
    author.say_text(" I had to look something up; here is the rest. The configuration was read twice at the start.")
    author.finish("stop")


def _big(author: Author) -> None:
    author.say(3000)
    author.finish("stop")


def _no_finish(author: Author) -> None:
    author.say(40)


def _garbage(author: Author) -> None:
    author.say(20)
    author.add(Garbage())
    author.say_text(" And this is what came after the garbage.")
    author.finish("stop")


def _disconnect(author: Author) -> None:
    author.say(30)
    author.add(Cut())


def _slow(author: Author) -> None:
    author.pause(SLOW_SECONDS)
    _content(author)


def _judge(author: Author) -> None:
    author.pause(0)
    score = 0.9 if author.score is None else author.score
    author.say_text(f'{{"score": {score:g}, "explanation": "As the model name says."}}')
    author.finish("stop")


def _hostile(author: Author) -> None:
    for start in range(0, len(HOSTILE_TEXT), 9):
        author.add(Content(HOSTILE_TEXT[start : start + 9]))
    author.call(0, *hostile_call())
    author.finish("tool_calls")


def _two_calls_one_chunk(author: Author) -> None:
    author.say(12)
    calls = (read_file_call(), dangerous_call())
    author.add(WholeTools(tuple((i, name, arguments_json(arguments)) for i, (name, arguments) in enumerate(calls))))
    author.finish("tool_calls")


def _error_400(_: Author) -> None:
    raise ProviderError.bad_request("The request is invalid.", "messages")


def _error_401(_: Author) -> None:
    raise ProviderError(401, "authentication", "Incorrect API key provided.", code="invalid_api_key")


def _error_429(_: Author) -> None:
    message = "Rate limit reached for requests. Please try again in 7s."
    raise ProviderError(429, "rate_limit", message, code="rate_limit_exceeded", retry_after=7)


def _error_500(_: Author) -> None:
    raise ProviderError(500, "server", "The server had an error while processing your request. Sorry about that!")


class Scenario(NamedTuple):
    """Something that the simulator can be asked for. `write` raises ProviderError if no stream is to begin."""

    description: str
    write: Callable[[Author], None]


SCENARIOS: dict[str, Scenario] = {
    "content": Scenario("Text only", _content),
    "tools": Scenario("Three tool calls and no text", _tools),
    "content-tools-empty": Scenario("Text, then tool calls with empty text beside each piece", _content_then_tools),
    "long-content-tools": Scenario("A long text, then tool calls", _long_content_then_tools),
    "thinking": Scenario("Thinking first, then text", _thinking),
    "parallel-tools": Scenario("Three tool calls whose pieces are interleaved", _parallel_tools),
    "refusal": Scenario("The model refuses", _refusal),
    "length": Scenario("Text that ends at the token limit", _length),
    "dangerous": Scenario("Text, then run_shell with rm -rf", _dangerous),
    "dangerous-parallel": Scenario("A harmless read_file beside run_shell with rm -rf", _dangerous_parallel),
    "secret": Scenario("Text with made-up credentials, split between chunks", _secret),
    "error-midstream": Scenario("The provider reports an error in the middle of the text", _error_midstream),
    "stall": Scenario("Text that stops for 30 seconds, then continues", _stall),
    "usage-after-finish": Scenario("Text; usage is sent after the finish even when nobody asked for it", _content),
    "big": Scenario("A text of 3,000 chunks", _big),
    "no-finish": Scenario("Text that just ends, with no finish", _no_finish),
    "garbage": Scenario("An event in the middle of the text that is not JSON", _garbage),
    "disconnect": Scenario("The connection is dropped in the middle of the text", _disconnect),
    "slow": Scenario("Twelve seconds of silence before the first byte", _slow),
    "judge": Scenario("A judge's answer: a score from 0 to 1", _judge),
    "hostile": Scenario("Script tags, control characters and template syntax everywhere", _hostile),
    "two-calls-one-chunk": Scenario("Two whole tool calls in one chunk", _two_calls_one_chunk),
    "agent": Scenario("A coding agent fixes a flaky test, one answer per turn", agent.write),
    "reasoner": Scenario(
        "A plan's next step if the request asks for one, otherwise an answer: for runs", reasoner.write
    ),
    "error-400": Scenario("HTTP 400 before any stream", _error_400),
    "error-401": Scenario("HTTP 401 before any stream", _error_401),
    "error-429": Scenario("HTTP 429 with retry-after before any stream", _error_429),
    "error-500": Scenario("HTTP 500 before any stream", _error_500),
}


def listing() -> dict[str, str]:
    """The name of each scenario, and a line about what it sends."""
    return {name: scenario.description for name, scenario in SCENARIOS.items()}


def write_script(
    asked: Asked, seed: int, input_tokens: int, server_speed: float, turn: int = 0, shape: Shape | None = None
) -> Script:
    """The script of a scenario, for a request that already has `turn` answers, and asks for JSON of a `shape` or for
    text. Raises ProviderError: 404 for an unknown scenario, its own for an `error-…` one."""
    scenario = SCENARIOS.get(asked.scenario)
    if scenario is None:
        raise ProviderError.no_such_model(asked.scenario)
    author = Author(asked, seed, server_speed, turn, shape)
    scenario.write(author)
    return Script(
        steps=tuple(author.steps),
        input_tokens=input_tokens,
        usage_always=asked.scenario == "usage-after-finish",
        empty_content_beside_tools=asked.scenario == "content-tools-empty",
    )
