"""The tables of the record, and of what an operator sets up: keys, routes and policies."""

from streamviz.records.models.access import ApiKey, Route
from streamviz.records.models.policies import Policy, PolicyVersion
from streamviz.records.models.streams import (
    Block,
    ClientRun,
    DeletedStream,
    Outcome,
    Session,
    Stream,
    UpstreamRun,
    Verdict,
)
from streamviz.records.models.upkeep import RetentionRun

__all__ = [
    "ApiKey",
    "Block",
    "ClientRun",
    "DeletedStream",
    "Outcome",
    "Policy",
    "PolicyVersion",
    "RetentionRun",
    "Route",
    "Session",
    "Stream",
    "UpstreamRun",
    "Verdict",
]
