"""What the pages read from Postgres: each in a fixed number of queries, each along an index."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.db.models.functions import Length

from streamviz.core.verdicts import Decision, Mode
from streamviz.live.presentation import marks
from streamviz.live.presentation.block_views import TAIL_CHARACTERS
from streamviz.records.ids import Span
from streamviz.records.models import Session, Stream
from streamviz.records.queries import pages
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import Place
from streamviz.records.queries.snippets import Snippet, snippets
from streamviz.records.queries.streams import of_sessions, shortened, span_of

SESSIONS_A_PAGE = 50
STREAMS_A_PAGE = 200
# How many blocks of each stream are read: a turn has no room for more.
BLOCKS_A_TURN = 60
_INTERVENING = [each.value for each in Decision if each is not Decision.ALLOW]


class Spent(NamedTuple):
    """What finished streams took, as far as that is known: tokens, those of the input that were read from a cache, and
    US dollars; None is unknown. `unpriced` streams have no known cost, and the tokens of `estimated` ones are
    estimates."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    unpriced: int = 0
    estimated: int = 0


class Kept(NamedTuple):
    """How many streams people starred, and the labels that they gave to any, sorted."""

    starred: int = 0
    labels: tuple[str, ...] = ()


class SessionRow(NamedTuple):
    """A session with the totals of its streams. In a list, `last_at` is when the newest of its streams that match was
    requested, and `found` is what a search found in that stream."""

    session: Session
    ended_at: datetime | None
    spent: Spent
    streams: int
    models: list[str]
    outcomes: list[tuple[marks.StateMark, int]]
    verdicts: list[tuple[marks.DecisionMark, int]]
    kept: Kept
    last_at: datetime | None = None
    found: Snippet | None = None

    @property
    def model_names(self) -> str:
        """All of them, on one line. A template's own join would escape them before the page does so again."""
        return ", ".join(self.models)

    @property
    def duration(self) -> int | None:
        """From its first request to the end of its last stream (µs)."""
        return None if self.ended_at is None else (self.ended_at - self.session.started_at) // timedelta(microseconds=1)


def session_page(filters: Filters, before: Place | None) -> tuple[list[SessionRow], Place | None]:
    """The newest sessions before a place, and the place of the next page (None if this is the last).

    Raises SearchTooBroad.
    """
    page = pages.session_page(filters, before, SESSIONS_A_PAGE)
    return _rows_of(filters.text, page.ids, page.found), page.following


def sorted_session_page(
    filters: Filters, by: str, *, is_descending: bool, start: int
) -> tuple[list[SessionRow], int | None]:
    """The sessions sorted by one of `pages.SORTED`, from the offset `start` on, and the offset of the next page (None
    if this is the last). Raises SearchTooBroad."""
    ids, found, has_more = pages.sorted_session_page(
        filters, by, is_descending=is_descending, start=start, size=SESSIONS_A_PAGE
    )
    return _rows_of(filters.text, ids, found), start + SESSIONS_A_PAGE if has_more else None


def _rows_of(text: str, ids: Sequence[uuid.UUID], newest: Sequence[Place]) -> list[SessionRow]:
    """The rows of these sessions, with their newest matching streams and what a search for the text finds in those."""
    sessions = Session.objects.select_related("key").in_bulk(ids)
    shown = with_totals([sessions[session_id] for session_id in ids if session_id in sessions])
    found = snippets(text, [place.id for place in newest])
    places = dict(zip(ids, newest, strict=True))
    of_rows = [(row, places[row.session.pk]) for row in shown]
    return [row._replace(last_at=place.at, found=found.get(place.id)) for row, place in of_rows]


def oldest_stream() -> datetime | None:
    """When the oldest stream of the record was requested; None if there is none."""
    return Stream.objects.order_by("requested_at", "id").values_list("requested_at", flat=True).first()


def with_totals(sessions: Sequence[Session]) -> list[SessionRow]:
    """Each session with the totals of its streams, in four queries."""
    streams = of_sessions(sessions).order_by()
    by_kind = streams.values_list("session_id", "requested_model", "outcome").annotate(Count("pk"), Max("ended_at"))
    models: dict[uuid.UUID, Counter[str]] = defaultdict(Counter)
    outcomes: dict[uuid.UUID, Counter[str]] = defaultdict(Counter)
    ends: dict[uuid.UUID, list[datetime]] = defaultdict(list)
    for session_id, model, outcome, number, ended_at in by_kind:
        ends[session_id] += [ended_at] if ended_at else []
        models[session_id][model] += number
        outcomes[session_id][outcome] += number
    decisions = _decisions(streams, span_of(sessions))
    spent = _spent(streams)
    kept = _kept(streams)
    return [
        SessionRow(
            session=session,
            spent=spent.get(session.pk, Spent()),
            ended_at=max(ends[session.pk], default=None),
            streams=outcomes[session.pk].total(),
            models=[model for model, _ in models[session.pk].most_common()],
            outcomes=_in_order(outcomes[session.pk]),
            verdicts=[(marks.DECISIONS[decision], n) for decision, n in decisions[session.pk].items()],
            kept=kept.get(session.pk, Kept()),
        )
        for session in sessions
    ]


def _in_order(outcomes: Counter[str]) -> list[tuple[marks.StateMark, int]]:
    """Running ones first, then in the order of `marks.OUTCOMES`, which is the same in each row."""
    order = ("", *marks.OUTCOMES)
    found = sorted(outcomes.items(), key=lambda each: order.index(each[0]) if each[0] in order else len(order))
    return [(marks.OUTCOMES.get(outcome, marks.RUNNING), number) for outcome, number in found]


def _spent(streams: QuerySet[Stream]) -> dict[uuid.UUID, Spent]:
    """What the streams took, by session."""
    sums = (
        streams.exclude(outcome="")
        .values_list("session_id")
        .annotate(
            Sum("input_tokens"),
            Sum("output_tokens"),
            Sum("cache_read_tokens"),
            Sum("cost"),
            # Runs took no tokens themselves: those of their calls are counted with the calls.
            unpriced=Count("pk", filter=Q(cost=None) & ~Q(input_tokens=0, output_tokens=0)),
            estimated=Count("pk", filter=Q(is_estimated=True)),
        )
    )
    return {
        session_id: Spent(asked, said, cached, None if cost is None else float(cost), *counts)
        for session_id, asked, said, cached, cost, *counts in sums
    }


def _kept(streams: QuerySet[Stream]) -> dict[uuid.UUID, Kept]:
    """The stars and labels that people gave the streams, by session."""
    found: dict[uuid.UUID, Kept] = defaultdict(Kept)
    annotated = streams.filter(annotation__isnull=False)
    for session_id, is_starred, labels in annotated.values_list(
        "session_id", "annotation__is_starred", "annotation__labels"
    ):
        before = found[session_id]
        found[session_id] = Kept(before.starred + is_starred, tuple(sorted({*before.labels, *labels})))
    return found


def _decisions(streams: QuerySet[Stream], span: Span) -> dict[uuid.UUID, Counter[Decision]]:
    """How often policies intervened in the streams, whose ids are in `span`, by session."""
    counts: dict[uuid.UUID, Counter[Decision]] = defaultdict(Counter)
    intervening = streams.filter(
        verdicts__mode=Mode.ENFORCE.value,
        verdicts__decision__in=_INTERVENING,
        verdicts__stream__gte=span.first,
        verdicts__stream__lte=span.last,
    )
    by_decision = intervening.values_list("session_id", "verdicts__decision").annotate(Count("verdicts__number"))
    for session_id, decision, number in by_decision:
        counts[session_id][Decision(decision)] = number
    return counts


def streams_of(session: Session, after: Place | None) -> tuple[list[Stream], Place | None]:
    """A session's streams in the order of their requests, with the sizes of those, and the place of the next page."""
    found = _as_turns(of_sessions([session]).order_by("requested_at", "id"))
    # All have the same session, and mostly the same key: neither is read again for each.
    found = found.select_related(None).prefetch_related("key")
    if after:
        found = found.filter(Q(requested_at__gt=after.at) | Q(requested_at=after.at, id__gt=after.id))
    page: list[Stream] = list(found[: STREAMS_A_PAGE + 1])
    for stream in page:
        stream.session = session
    last = page[STREAMS_A_PAGE - 1] if len(page) > STREAMS_A_PAGE else None
    return page[:STREAMS_A_PAGE], Place(last.requested_at, last.pk) if last else None


def stream_alone(stream_id: uuid.UUID) -> Stream:
    """A stream as `streams_of` has it. Raises Stream.DoesNotExist."""
    return _as_turns(Stream.objects.all()).get(pk=stream_id)


def _as_turns(streams: QuerySet[Stream]) -> QuerySet[Stream]:
    return shortened(streams, TAIL_CHARACTERS, BLOCKS_A_TURN).annotate(asked_bytes=Length("request"))
