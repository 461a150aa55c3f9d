"""The tables of the record, and of what an operator configures: keys, routes and policies."""

from streamviz.records.models.access import ApiKey, SignInAttempt
from streamviz.records.models.archive import ArchivedPart, ArchiveObject, RetentionRun
from streamviz.records.models.backtests import Backtest, BacktestState
from streamviz.records.models.derived import LintNote, RequestWords, Stall
from streamviz.records.models.half_hours import HalfHour
from streamviz.records.models.mcp_servers import McpServer
from streamviz.records.models.people import Annotation, Download, SavedView
from streamviz.records.models.policies import Policy, PolicyVersion
from streamviz.records.models.routes import Route, RouteVersion
from streamviz.records.models.sessions import Session
from streamviz.records.models.sharing import PublicLink
from streamviz.records.models.streams import Block, DeletedSession, DeletedStream, Outcome, Stream, Verdict
from streamviz.records.models.tallies import Tally, Use
from streamviz.records.models.tapes import ClientRun, UpstreamRun
from streamviz.records.models.workers import Spread, Worker, spread_of

__all__ = [
    "Annotation",
    "ApiKey",
    "ArchiveObject",
    "ArchivedPart",
    "Backtest",
    "BacktestState",
    "Block",
    "ClientRun",
    "DeletedSession",
    "DeletedStream",
    "Download",
    "HalfHour",
    "LintNote",
    "McpServer",
    "Outcome",
    "Policy",
    "PolicyVersion",
    "PublicLink",
    "RequestWords",
    "RetentionRun",
    "Route",
    "RouteVersion",
    "SavedView",
    "Session",
    "SignInAttempt",
    "Spread",
    "Stall",
    "Stream",
    "Tally",
    "UpstreamRun",
    "Use",
    "Verdict",
    "Worker",
    "spread_of",
]
