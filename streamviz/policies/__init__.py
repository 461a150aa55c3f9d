"""The built-in policies, one file each, and the registry that makes them from what an operator set.

Most processes make no policy, and the libraries that policies need take a fifth of the time in which one starts: so the
registry is imported once one is asked for.
"""

from streamviz.core.json_value import JsonObject
from streamviz.core.policy import Policy

__all__ = ["build", "build_short", "kinds"]


def kinds() -> list[tuple[str, str]]:
    """Each kind and the words for it."""
    from streamviz.policies import registry

    return registry.kinds()


def build(kind: str, parameters: JsonObject) -> Policy:
    """A policy of this kind. Raises PolicyParametersError for an unknown kind or parameters that it does not accept."""
    from streamviz.policies import registry

    return registry.build(kind, parameters)


def build_short(kind: str, parameters: JsonObject) -> Policy:
    """The same for where clients wait: see the registry's."""
    from streamviz.policies import registry

    return registry.build_short(kind, parameters)
