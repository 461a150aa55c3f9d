"""The built-in policies, one file each, and the registry that makes them from what an operator set."""

from streamviz.policies.registry import build, build_short, kinds

__all__ = ["build", "build_short", "kinds"]
