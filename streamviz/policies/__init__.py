"""The built-in policies, one file each, and the registry that builds them from an operator's parameters.

Most processes make no policies, and the libraries that policies need take a fifth of a process's start-up time, so the
registry is imported on first use.
"""

from streamviz.core.json_value import JsonObject
from streamviz.core.policy import Policy

__all__ = ["build", "build_short", "kinds"]


def kinds() -> list[tuple[str, str]]:
    """Each kind with its display name."""
    from streamviz.policies import registry

    return registry.kinds()


def build(kind: str, parameters: JsonObject) -> Policy:
    """A policy of this kind. Raises PolicyParametersError for an unknown kind or parameters that it does not accept."""
    from streamviz.policies import registry

    return registry.build(kind, parameters)


def build_short(kind: str, parameters: JsonObject) -> Policy:
    """Like `build`, for use where clients wait: see `registry.build_short`."""
    from streamviz.policies import registry

    return registry.build_short(kind, parameters)
