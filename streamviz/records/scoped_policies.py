"""A policy that is ready to judge, with the models and keys that it applies to."""

from dataclasses import dataclass

from streamviz.core.model_names import matches, matching
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode


@dataclass(frozen=True, slots=True)
class ScopedPolicy:
    """A policy that is not off, and the models and keys it applies to, as globs; no globs means all.

    If it cannot run, `trouble` says why, and `active` is a policy that fails in its place if it is enforced, otherwise
    None.
    """

    name: str
    version: int
    mode: Mode
    models: tuple[str, ...]
    keys: tuple[str, ...]
    active: ActivePolicy | None = None
    trouble: str = ""

    def why_not(self, models: tuple[str, ...], key_name: str) -> str:
        """Why it does not run on a stream whose model has these names; empty if it does."""
        if self.models and not matching(models, self.models):
            return "the model is outside its scope"
        if not matches(key_name, self.keys):
            return "the key is outside its scope"
        return self.trouble if self.active is None else ""
