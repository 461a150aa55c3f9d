"""Calling policies. They may be anybody's code, and even exit: what a hook raises is a failure of its own only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from streamviz.core.json_value import encode
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import ALLOW, Decision, Verdict

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failed:
    """A hook that raised."""

    error: BaseException

    @property
    def words(self) -> str:
        return words(self.error)


def called(hook: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Failed:
    """What a hook returns, or what it raised."""
    try:
        return hook(*args, **kwargs)
    except BaseException as error:
        return Failed(error)


def verdict_of(
    active: ActivePolicy, hook: Callable[P, object], *args: P.args, **kwargs: P.kwargs
) -> tuple[Verdict | None, str]:
    """The verdict of a hook that must not ask anybody; if it fails, its fail mode's verdict, and why it failed."""
    said = called(lambda: checked(hook(*args, **kwargs)))
    return (active.failed(said.words), said.words) if isinstance(said, Failed) else (said, "")


def words(error: BaseException) -> str:
    """An error's message, with its type."""
    return f"{type(error).__name__}: {error}"


def require_in_time(active: ActivePolicy, took: int) -> None:
    """Raises TimeoutError if a hook took longer (µs) than its policy may. Nothing can stop it earlier."""
    if took > active.time_limit * 1_000_000:
        raise TimeoutError(f"it took {took / 1_000_000:.1f} s, longer than {active.time_limit:g} s")


def checked(said: object) -> Verdict | None:
    """Raises TypeError or ValueError if a policy returned anything but None or a verdict that can be recorded."""
    if said is None or said is ALLOW:
        return None if said is None else ALLOW
    if not isinstance(said, Verdict):
        raise TypeError(f"a policy gives a Verdict or None, not {type(said).__name__}")
    _require(said.decision, Decision, "decision")
    _require(said.reason, str, "reason")
    _require(said.text, str, "text")
    _require(said.evidence, Mapping, "evidence")
    if said.request is not None:
        _require(said.request, dict, "request")
    if said.evidence:
        encode(dict(said.evidence))
    return said


def _require(value: object, kind: type, name: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"the {name} of a verdict is a {kind.__name__}, not a {type(value).__name__}")
