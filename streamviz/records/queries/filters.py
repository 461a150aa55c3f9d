"""The filters of a page, as conditions in SQL."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters that are set; empty or None means not set. Names are exact, and an empty name matches streams that
    have none. `text` is searched for in content, thinking, tool names, arguments, labels and names of sessions, ids and
    model names. Streams that match anything in `without` are left out.

    `errors` and `notes` are LIKE patterns. In `outcomes` an empty string matches running streams; `decisions` has words
    such as `deny` and `would deny`.
    """

    since: datetime | None = None
    until: datetime | None = None
    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    intervened: bool | None = None
    errors: tuple[str, ...] = ()
    starred: bool | None = None
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    least_cost: float | None = None
    least_seconds: float | None = None
    text: str = ""
    without: "Filters | None" = None


class Conditions(NamedTuple):
    """The SQL condition for matching streams, and its values; {s} stands for the stream's alias.

    If matching means examining a stream's parts, `costly` does that for one stream after another, in whatever order
    they come, and `rest` has all other conditions; a match is then probably found soon. `is_few` says that hardly any
    stream matches.
    """

    sql: str
    values: Values
    costly: str = ""
    rest: str = ""
    is_few: bool = False

    @property
    def is_costly(self) -> bool:
        return bool(self.costly)

    def of(self, alias: str) -> str:
        """The conditions for the stream with this alias."""
        return self.sql.replace("{s}", alias)

    def of_each(self, alias: str) -> str:
        """The same, evaluated one stream at a time."""
        return f"{self.rest_of(alias)} AND {self.costly_of(alias)}"

    def costly_of(self, alias: str) -> str:
        """The costly conditions."""
        return self.costly.replace("{s}", alias) or "true"

    def rest_of(self, alias: str) -> str:
        """All conditions that are not costly."""
        return (self.rest if self.costly else self.sql).replace("{s}", alias)

    def and_(self, other: "Conditions") -> "Conditions":
        """Both conditions together."""
        return Conditions(
            f"{self.sql} AND {other.sql}",
            self.values | other.values,
            " AND ".join(each.costly for each in (self, other) if each.costly),
            f"{self.rest_of('{s}')} AND {other.rest_of('{s}')}",
            self.is_few or other.is_few,
        )


# Each filter's condition, by field; the parameter has the field's name.
_CONDITIONS = {
    "since": "{s}.requested_at >= %(since)s",
    "until": "{s}.requested_at < %(until)s",
    "models": "{s}.requested_model = ANY(%(models)s)",  # index stream_of_model
    "providers": "{s}.provider = ANY(%(providers)s)",
    # index stream_of_key
    "keys": "({s}.key_id = ANY(ARRAY(SELECT id FROM records_apikey WHERE name = ANY(%(keys)s)))"
    " OR ({s}.key_id IS NULL AND '' = ANY(%(keys)s)))",
    # By label, by name or by our own id: indexes session_of_label, session_of_name.
    "sessions": "{s}.session_id IN (SELECT id FROM records_session WHERE label <> '' AND label = ANY(%(sessions)s)"
    " AND left(label, 100) = ANY(ARRAY(SELECT left(each, 100) FROM unnest(%(sessions)s::text[]) AS each))"
    " UNION ALL SELECT id FROM records_session WHERE name <> '' AND name = ANY(%(sessions)s)"
    " AND left(name, 100) = ANY(ARRAY(SELECT left(each, 100) FROM unnest(%(sessions)s::text[]) AS each))"
    " UNION ALL SELECT id FROM records_session WHERE '' = ANY(%(sessions)s) AND label = '' AND name = ''"
    " UNION ALL SELECT asked.id::uuid FROM unnest(%(sessions)s::text[]) AS asked (id)"
    " WHERE asked.id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')",
    "outcomes": "{s}.outcome = ANY(%(outcomes)s)",  # index stream_that_failed
    "finish_reasons": "{s}.finish_reason = ANY(%(finish_reasons)s)",
    # index block_of_tool
    "tools": "EXISTS (SELECT true FROM records_block AS tool WHERE tool.stream_id = {s}.id AND tool.kind = 'tool_call'"
    " AND tool.name = ANY(%(tools)s))",
    # index verdict_number
    "policies": "EXISTS (SELECT true FROM records_verdict AS verdict WHERE verdict.stream_id = {s}.id"
    " AND verdict.policy_version_id = ANY(ARRAY(SELECT version.id FROM records_policyversion AS version"
    " JOIN records_policy AS policy ON policy.id = version.policy_id WHERE policy.name = ANY(%(policies)s))))",
    "decisions": "EXISTS (SELECT FROM records_verdict AS verdict"
    " WHERE verdict.stream_id = {s}.id"
    " AND CASE verdict.mode WHEN 'shadow' THEN 'would ' ELSE '' END || verdict.decision = ANY(%(decisions)s))",
    # index verdict_that_intervened
    "intervened": "EXISTS (SELECT true FROM records_verdict AS verdict"
    " WHERE verdict.stream_id = {s}.id AND verdict.mode = 'enforce' AND verdict.decision <> 'allow')",
    # index stream_with_error
    "errors": "{s}.error <> '' AND streamviz_error({s}.error) ILIKE ANY(%(errors)s)",
    # indexes session_starred, stream_in_session and stream_starred
    "starred": "{s}.id IN (SELECT starred.id FROM records_stream AS starred WHERE starred.session_id IN"
    " (SELECT id FROM records_session WHERE is_starred)"
    " UNION SELECT stream_id FROM records_annotation WHERE is_starred)",
    # index stream_labels
    "labels": "{s}.id IN (SELECT stream_id FROM records_annotation WHERE labels && %(labels)s)",
    "notes": "{s}.id IN (SELECT stream_id FROM records_annotation WHERE note ILIKE ANY(%(notes)s))",
    "least_cost": "{s}.cost >= %(least_cost)s",
    "least_seconds": "{s}.ended_at - {s}.requested_at >= %(least_seconds)s * interval '1 second'",
}


# Filters that few streams may match, or many (members.py).
EXISTING = ("tools", "policies", "intervened")


class Found(NamedTuple):
    """The ids of the streams that match a field of EXISTING; if there are many, None, and the time up to which the
    newest of them may have been requested."""

    ids: list[UUID] | None
    last: datetime | None = None


def conditions(filters: Filters, found: Mapping[str, Found] | None = None) -> Conditions:
    """The conditions of all filters except the text, which search.py handles. `found` has what is known of the streams
    that match a field."""
    known = found or {}
    wanted = dict(_parts(filters))
    values = {name: _value(filters, name) for name in wanted}
    costly, rest = [], []
    for name, streams in known.items():
        if streams.ids is not None:
            wanted[name] = f"{{s}}.id = ANY(%({name})s)"
            values[name] = streams.ids
        else:
            costly.append(_of_one(wanted[name]))
            rest.append(f"{{s}}.requested_at <= coalesce(%(last_{name})s, 'infinity'::timestamptz)")
            values[f"last_{name}"] = streams.last
    without, left_out = [], filters.without or Filters()
    for name, condition in _parts(left_out):
        # A stream in which the value is unknown is not left out.
        without.append(f"({condition.replace(f'%({name})s', f'%(not_{name})s')}) IS NOT TRUE")
        values[f"not_{name}"] = _value(left_out, name)
    rest += [condition for name, condition in wanted.items() if name not in known or known[name].ids is not None]
    return Conditions(
        " AND ".join(["true", *wanted.values(), *without]),
        values,
        " AND ".join(costly),
        " AND ".join(["true", *rest, *without]),
        any(streams.ids is not None for streams in known.values()),
    )


def _of_one(condition: str) -> str:
    """EXISTS as a scalar subquery, which Postgres evaluates stream by stream."""
    return f"coalesce(({condition.removeprefix('EXISTS (').removesuffix(')')} LIMIT 1), false)"


def _parts(filters: Filters) -> Iterator[tuple[str, str]]:
    """The fields that are set, each with its condition."""
    for name, condition in _CONDITIONS.items():
        value = getattr(filters, name)
        if value not in (None, ()):
            yield name, f"NOT {condition}" if value is False else condition


def _value(filters: Filters, name: str) -> Any:
    value = getattr(filters, name)
    return list(value) if isinstance(value, tuple) else value
