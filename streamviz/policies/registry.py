"""Which kinds of policy there are."""

from collections.abc import Callable

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject
from streamviz.core.policy import Policy
from streamviz.policies.tool_rule import ToolRule

REGISTRY: dict[str, Callable[[JsonObject], Policy]] = {policy.kind: policy for policy in (ToolRule,)}


def kinds() -> list[tuple[str, str]]:
    """Each kind and the words for it."""
    return [(kind, kind.replace("_", " ")) for kind in REGISTRY]


def build(kind: str, parameters: JsonObject) -> Policy:
    """A policy of this kind. Raises PolicyParametersError for an unknown kind or parameters that it does not accept."""
    make = REGISTRY.get(kind)
    if make is None:
        raise PolicyParametersError(f"there is no kind of policy called {kind!r}", "kind")
    return make(parameters)
