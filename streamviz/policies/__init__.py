"""The built-in policies, one file each, and the registry that makes them from what an operator set."""

from streamviz.policies.registry import build, kinds

__all__ = ["build", "kinds"]
