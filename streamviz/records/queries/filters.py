"""What a page shows of the streams there are, as conditions in SQL."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Filters:
    """What is asked for; what is empty or None is not. Names are exact, `text` is searched for in content, thinking,
    tool names, arguments, labels, ids and the names of models."""

    since: datetime | None = None
    until: datetime | None = None
    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    intervened: bool | None = None
    starred: bool | None = None
    least_cost: float | None = None
    least_seconds: float | None = None
    text: str = ""


class Conditions(NamedTuple):
    """SQL that holds for the streams that are asked for, and its values. {s} is the stream's alias."""

    sql: str
    values: Values

    def of(self, alias: str) -> str:
        """The conditions for the stream of this alias."""
        return self.sql.replace("{s}", alias)


# Each filter's condition, by its field; the value has the field's name.
_CONDITIONS = {
    "since": "{s}.requested_at >= %(since)s",
    "until": "{s}.requested_at < %(until)s",
    "models": "{s}.requested_model = ANY(%(models)s)",  # index stream_of_model
    "providers": "{s}.provider = ANY(%(providers)s)",
    "keys": "{s}.key_id = ANY(ARRAY(SELECT id FROM records_apikey WHERE name = ANY(%(keys)s)))",  # stream_of_key
    "outcomes": "{s}.outcome = ANY(%(outcomes)s)",  # index stream_that_failed
    "finish_reasons": "{s}.finish_reason = ANY(%(finish_reasons)s)",
    # index block_of_tool
    "tools": "EXISTS (SELECT FROM records_block AS tool WHERE tool.stream_id = {s}.id AND tool.kind = 'tool_call'"
    " AND tool.name = ANY(%(tools)s))",
    # index verdict_number
    "policies": "EXISTS (SELECT FROM records_verdict AS verdict"
    " JOIN records_policyversion AS version ON version.id = verdict.policy_version_id"
    " JOIN records_policy AS policy ON policy.id = version.policy_id"
    " WHERE verdict.stream_id = {s}.id AND policy.name = ANY(%(policies)s))",
    "decisions": "EXISTS (SELECT FROM records_verdict AS verdict"
    " WHERE verdict.stream_id = {s}.id AND verdict.decision = ANY(%(decisions)s))",
    # index verdict_that_intervened
    "intervened": "%(intervened)s = EXISTS (SELECT FROM records_verdict AS verdict"
    " WHERE verdict.stream_id = {s}.id AND verdict.mode = 'enforce' AND verdict.decision <> 'allow')",
    "starred": "%(starred)s = (SELECT is_starred FROM records_session AS starred WHERE starred.id = {s}.session_id)",
    "least_cost": "{s}.cost >= %(least_cost)s",
    "least_seconds": "{s}.ended_at - {s}.requested_at >= %(least_seconds)s * interval '1 second'",
}


def conditions(filters: Filters) -> Conditions:
    """All but the text's, which search.py sees to."""
    values: Values = {}
    parts = ["true"]
    for name, condition in _CONDITIONS.items():
        value = getattr(filters, name)
        if value is None or value == ():
            continue
        values[name] = list(value) if isinstance(value, tuple) else value
        parts.append(condition)
    return Conditions(" AND ".join(parts), values)
