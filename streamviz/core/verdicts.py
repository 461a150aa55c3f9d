"""What policies decide."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from streamviz.core.json_value import JsonObject


class Mode(StrEnum):
    """Whether a policy runs, and whether its verdicts count."""

    OFF = "off"
    SHADOW = "shadow"
    ENFORCE = "enforce"


class Decision(StrEnum):
    """What a policy decides about a block, a request or a stream."""

    ALLOW = "allow"
    REPLACE = "replace"
    DENY = "deny"
    HALT = "halt"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A policy's decision.

    `reason` is for people. `text` is what the client gets: in place of a block that is denied, as the text or arguments
    of one that is replaced, as the last words of a stream that is halted. `request` is the request that goes upstream
    if a request is replaced. `evidence` says what was found and where; it never contains a secret.
    """

    decision: Decision
    reason: str = ""
    text: str = ""
    evidence: Mapping[str, object] = field(default_factory=dict)
    request: JsonObject | None = None


ALLOW = Verdict(Decision.ALLOW)
