"""The kinds of policy."""

import inspect
from collections.abc import Callable
from typing import NamedTuple

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject
from streamviz.core.policy import Policy, Recipe
from streamviz.policies import python
from streamviz.policies.cel_rule import CelRule
from streamviz.policies.limits import Limits
from streamviz.policies.llm_judge import LlmJudge
from streamviz.policies.redact import Redact
from streamviz.policies.request_rule import RequestRule
from streamviz.policies.shell_rule import ShellRule
from streamviz.policies.text_rule import TextRule
from streamviz.policies.tool_rule import ToolRule
from streamviz.policies.tool_schema import ToolSchema

_CLASSES = (ToolRule, CelRule, TextRule, Redact, ToolSchema, LlmJudge, Limits, RequestRule, ShellRule)


class Kind(NamedTuple):
    """How a kind is made, the JSON schema of its parameters, and its description for operators."""

    make: Callable[[JsonObject], Policy]
    schema: JsonObject
    about: str


REGISTRY: dict[str, Kind] = {
    **{policy.kind: Kind(policy, policy.parameters_schema, inspect.getdoc(policy) or "") for policy in _CLASSES},
    "python": Kind(python.python, python.PARAMETERS_SCHEMA, inspect.getdoc(python.python) or ""),
}


def kinds() -> list[tuple[str, str]]:
    """Each kind with its display name."""
    return [(kind, words_for(kind)) for kind in REGISTRY]


def words_for(kind: str) -> str:
    """A kind's display name."""
    return kind.replace("_", " ").replace("llm", "LLM").replace("cel", "CEL")


def build(kind: str, parameters: JsonObject) -> Policy:
    """A policy of this kind. Raises PolicyParametersError for an unknown kind or parameters that it does not accept."""
    found = REGISTRY.get(kind)
    if found is None:
        raise PolicyParametersError(f"there is no kind of policy called {kind!r}", "kind")
    try:
        return found.make(parameters)
    except PolicyParametersError:
        raise
    except BaseException as error:  # One policy that cannot be made must not keep the others from loading.
        raise PolicyParametersError(f"it cannot be made: {type(error).__name__}: {error}") from error


def build_short(kind: str, parameters: JsonObject) -> Policy:
    """Like `build`, for use where clients wait: work that may take long goes to a process that makes the policy again.

    An operator's own class stays in this process. Raises PolicyParametersError.
    """
    policy = build(kind, parameters)
    if type(policy) in _CLASSES and not policy.is_quick:
        policy.recipe = Recipe(kind, parameters)
    return policy
