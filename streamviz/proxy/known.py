"""A stream that a worker remembers, and what is known of it."""

from dataclasses import dataclass, field
from uuid import UUID

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.json_value import JsonObject
from streamviz.proxy.marks import Marks
from streamviz.records.links import Candidate, Relation

NONE = UUID(int=0)
# How long after its caller went on a sub-agent in the background may begin, in µs.
_SOON = 60_000_000
Answer = Aggregator[Chunk, JsonObject]


@dataclass(slots=True, eq=False)
class Known:
    """A stream that is remembered. `session` is empty until it is found; `port` is that of its client's connection, and
    `helper` the sub-agent's id, empty for the main agent and for those that do not say so.

    `turns` is how many streams continue it, the newest since `turned_at`; `calls` is how many tools it called, and
    `helpers` how many sub-agents were started by these calls. `answer` is what upstream has said so far, until the
    stream's marks are noted; it `is_over` once the client has all of that. `has_left` says whether the marks of its
    request are in `left` yet. `first_put` and `last_put` say when it was first and last added to lists, on a counter of
    such additions.
    """

    id: UUID
    owner: str
    requested_at: int
    client: str
    port: int
    agent: str
    tools: frozenset[str]
    marks: Marks
    answer: Answer | None
    helper: str = ""
    session: UUID = NONE
    parent: UUID | None = None
    relation: str = ""
    turns: int = 0
    turned_at: int = 0
    calls: int = 0
    helpers: int = 0
    is_retried: bool = False
    has_failed: bool = False
    is_over: bool = False
    has_left: bool = False
    left: list[int] = field(default_factory=list)
    first_put: int = 0
    last_put: int = 0

    @property
    def is_waiting(self) -> bool:
        """Whether nobody has answered its calls yet."""
        return self.calls > 0 and not self.turns

    def as_candidate(self) -> Candidate:
        """What `choose` compares. A client that repeats the request of a running stream has given that stream up, so it
        counts as failed."""
        has_failed = self.has_failed or (self.answer is not None and not self.is_over)
        told = (self.id, self.session, self.requested_at, self.client, self.agent)
        return Candidate(*told, self.turns, self.is_retried, has_failed, self.port)

    def may_have_called(self, one: "Known") -> bool:
        """Whether it may have called another agent of the same program in the background, and just gone on itself."""
        is_calling = self.calls > self.helpers and one.requested_at - self.turned_at < _SOON
        return is_calling and (one.client, one.agent) == (self.client, self.agent) and one.tools != self.tools

    def count(self, one: "Known", number: int) -> None:
        """Note that a stream continues it or is its sub-agent's, or (-1) that it does not after all."""
        if one.relation == Relation.TURN:
            self.turns += number
            self.turned_at = one.requested_at
        self.helpers += number if one.relation == Relation.SUBAGENT else 0
