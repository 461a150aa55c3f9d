"""Which clients run, in which dialects, on which provider's model, with which tasks."""

from dataclasses import dataclass

import litellm

from tests.clients.script import INPUT, OUTPUT, READ, WRITTEN

# The scenario of the scripted provider for each task that needs one of its own.
NAMED_ALIKE = ("limited", "busy", "refused", "broken", "cut", "dropped", "ended")
SCENARIOS = {"abort": "slow", **{name: name for name in NAMED_ALIKE}}
# Not "image": pydantic-ai takes a model with that in its name for an image generator.
COMMON = ("answer", "whole", "tools", "limited", "busy", "refused", "broken", "cut", "abort", "picture", "shape")
NO_SHAPE = tuple(task for task in COMMON if task != "shape")

VENDORS = {"chat": "openai", "responses": "openai", "messages": "anthropic", "gemini": "gemini"}
OTHER = {"chat": "anthropic", "responses": "anthropic", "messages": "openai", "gemini": "openai"}
# Models with known prices, so that costs can be checked.
MODELS = {"openai": "gpt-5", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}
ROOTS = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}


@dataclass(frozen=True)
class Case:
    """A client speaking one of its dialects to a model of a provider."""

    client: str
    environment: str
    dialect: str
    provider: str
    tasks: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name that tests and models use."""
        return f"{self.client}-{self.dialect}-{self.provider}"

    def model(self, task: str) -> str:
        """The name of the route for a task, by which its recorded streams are found again."""
        return f"{self.name}-{task}"

    def target(self, port: int, task: str) -> tuple[str, str, str]:
        """That route: its name, the upstream model and the base URL."""
        root = f"http://127.0.0.1:{port}/{SCENARIOS.get(task, 'plain')}/{self.model(task)}{ROOTS[self.provider]}"
        return self.model(task), f"{self.provider}/{MODELS[self.provider]}", root


def expected_cost(provider: str) -> float:
    """The cost of one of the script's turns, from LiteLLM's price table; only Anthropic reports cache writes."""
    prices = litellm.model_cost[MODELS[provider]]
    written = WRITTEN if provider == "anthropic" else 0
    fresh = (INPUT - READ - written) * prices["input_cost_per_token"]
    cached = READ * prices["cache_read_input_token_cost"]
    kept = written * prices.get("cache_creation_input_token_cost", 0)
    return float(fresh + cached + kept + OUTPUT * prices["output_cost_per_token"])


def _cases(client: str, environment: str, dialects: str, tasks: tuple[str, ...]) -> list[Case]:
    """A client's cases: each dialect with a model of its own vendor and with another vendor's."""
    return [
        Case(client, environment, dialect, provider, tasks)
        for dialect in dialects.split()
        for provider in (VENDORS[dialect], OTHER[dialect])
    ]


PYTHON = [
    *_cases("openai_sdk", "sdks", "chat responses", COMMON),
    *_cases("anthropic_sdk", "sdks", "messages", (*COMMON, "count")),
    *_cases("google_sdk", "sdks", "gemini", (*COMMON, "count")),
    *_cases("pydantic_ai_client", "frameworks", "chat responses messages", COMMON),
    # It does not retry calls to Gemini.
    *_cases("pydantic_ai_client", "frameworks", "gemini", tuple(task for task in COMMON if task != "limited")),
    *_cases("openai_agents", "frameworks", "chat responses", COMMON),
    *_cases("langchain_client", "frameworks", "chat responses messages gemini", COMMON),
    # Leaving the graph early is not tested: the node reads the answer to its end anyway.
    *_cases("langgraph_client", "frameworks", "chat messages", ("answer", "tools", "limited", "busy", "cut")),
    *_cases("litellm_client", "frameworks", "chat messages", NO_SHAPE),
    # It does not retry streams from Gemini.
    *_cases("litellm_client", "frameworks", "gemini", tuple(task for task in NO_SHAPE if task != "limited")),
    *_cases("llm_client", "llm", "chat", COMMON),
    *_cases("google_adk", "adk", "gemini", (*COMMON, "sequence")),
]
NODE = [
    *_cases("openai_node", "node", "chat", COMMON),
    # `previous_response_id` is refused for another vendor's model, as responses are stored by their vendor.
    Case("openai_node", "node", "responses", "openai", (*COMMON, "chained")),
    Case("openai_node", "node", "responses", "anthropic", COMMON),
    *_cases("anthropic_node", "node", "messages", (*COMMON, "count")),
    *_cases("google_node", "node", "gemini", (*COMMON, "count")),
    *_cases("vercel_ai", "node", "chat responses messages gemini", COMMON),
    *_cases("vercel_ai_6", "node_ai6", "chat responses messages gemini", COMMON),
]
AGENTS = [
    *_cases("claude_code", "agents", "messages", ("tools", "limited", "refused", "dropped", "ended", "abort")),
    *_cases("codex", "agents", "responses", ("tools", "limited", "refused", "dropped", "ended", "abort")),
    *_cases("codex_as_openai", "agents", "responses", ("tools",)),
    *_cases("opencode", "agents", "chat messages", ("tools", "limited", "refused", "dropped", "ended", "abort")),
    # It retries on another connection without saying so, so the second attempt becomes a session of its own.
    *_cases("gemini_cli", "agents", "gemini", ("tools", "refused", "abort")),
    *_cases("qwen_code", "other_agents", "chat", ("tools", "limited", "refused", "dropped", "abort")),
    *_cases("pi", "other_agents", "chat messages responses gemini", ("tools", "limited", "refused", "abort")),
    *_cases("copilot_cli", "other_agents", "chat", ("tools", "limited", "refused", "abort")),
    *_cases("continue_cli", "other_agents", "chat", ("tools", "limited", "refused", "abort")),
    # As with Gemini CLI.
    *_cases("continue_cli", "other_agents", "messages", ("tools", "refused", "abort")),
    *_cases("aider", "aider", "chat messages", ("answer", "limited", "refused", "abort")),
]
