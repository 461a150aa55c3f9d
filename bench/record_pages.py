"""The pages that query the record, each with its parameters. Import this only once Django is set up."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote_plus

from django.db.models import Count, Exists, OuterRef

from streamviz.dashboard import playback
from streamviz.records.models import ApiKey, Policy, Session, Stream, UpstreamRun

Ask = Callable[[], Any]
_HTMX = {"HX-Request": "true"}


def pages(client: Any) -> dict[str, Ask]:
    """Each page, as Django serves it from middleware to last byte, and the fragments that it loads afterwards."""

    def ask(query: Callable[[], str], path: str = "", headers: dict[str, str] | None = None) -> None:
        answer = client.get(path + query(), headers=headers or {})
        for _ in answer.streaming_content if answer.streaming else ():
            pass
        assert answer.status_code == 200, answer.status_code

    def first(query: Callable[[], str], waits: str = "") -> None:
        playback._kept.clear()
        ask(lambda: query() + waits)

    found: dict[str, Ask] = {}
    for name, query in _lists().items():
        found[f"page: sessions {name}"] = partial(ask, query, "/sessions/?")
        found[f"histogram: sessions {name}"] = partial(ask, query, "/sessions/histogram/?", _HTMX)
        found[f"page: errors {name}"] = partial(ask, query, "/errors/?")
    paths = {**_general(), **_session_pages(), **_stream_pages()}
    found |= {f"page: {name}": partial(ask, query) for name, query in paths.items()}
    moments = {name: query for name, query in _stream_pages().items() if name.startswith("a moment")}
    found |= {f"step: {name}": partial(ask, query, "", _HTMX) for name, query in moments.items()}
    found |= {f"first look: {name}": partial(first, query) for name, query in moments.items()}
    return found | {f"made ready: {name}": partial(first, query, "&wait=1") for name, query in moments.items()}


def stream_of(chunks: int) -> Stream:
    """A stream of about `chunks` chunks, or the longest below that, that has chunks on record: copies have none."""
    has_chunks = Exists(UpstreamRun.objects.filter(stream=OuterRef("pk")))
    found = Stream.objects.filter(has_chunks, chunk_count__lte=chunks).order_by("-chunk_count").first()
    assert found is not None
    return found


def _lists() -> dict[str, Callable[[], str]]:
    chance = random.Random(4)  # noqa: S311
    streams = Stream.objects.count()
    label = Stream.objects.order_by("requested_at")[streams // 2].session.label
    return {
        "of 24 h": lambda: "range=24h",
        "of all time": lambda: "range=all",
        "of a model": lambda: "range=all&q=model:o4-mini",
        "by outcome, tool and cost": lambda: "range=all&q=outcome:upstream_error+tool:run_shell+cost:0.001",
        "in which a policy intervened": lambda: "range=all&q=intervened:yes",
        "judged by a policy": lambda: "range=all&q=policy:shell-guard",
        "with a star": lambda: "range=all&q=starred:yes",
        "with a label": lambda: "range=all&q=" + quote_plus(f'session:"{label}"'),
        "by a cost that no stream has": lambda: "range=all&q=cost:1000",
        "by a tool": lambda: "range=all&q=tool:run_shell",
        "of a week, with nothing that matches": lambda: "range=7d&q=finish_reason:none",
        "by what an error says": lambda: "range=all&q=error:broke",
        "a search for a model": lambda: "range=all&q=o4-mini",
        "a search for one stream": lambda: f"range=all&q=case-{chance.randrange(streams):08d}",
        "a search for a common word": lambda: "range=all&q=worker",
        "a search for a word of requests": lambda: "range=all&q=turn",
        "a search for two common words": lambda: "range=all&q=worker+handler",
        "a search for nothing": lambda: "range=all&q=nowhere",
    }


def _general() -> dict[str, Callable[[], str]]:
    policy, key = Policy.objects.order_by("pk").first(), ApiKey.objects.first()
    assert policy is not None
    asked = {
        "stats of 1 h": "/stats/?range=1h",
        "stats of 24 h": "/stats/?range=24h",
        "stats of a week by key": "/stats/?range=7d&by=key",
        "stats of a week beside the one before": "/stats/?range=7d&compare=week",
        "stats of a week by tool": "/stats/?range=7d&by=tool",
        "stats of a month by model": "/stats/?range=30d",
        "stats of a month by session": "/stats/?range=30d&by=session",
        "stats of a month by tool": "/stats/?range=30d&by=tool",
        "stats of all time by tool": "/stats/?range=all&by=tool",
        "stats of all time by session": "/stats/?range=all&by=session",
        "stats of all time as CSV": "/stats/?range=all&csv=time",
        "live": "/",
        "live, filtered": "/?q=model:o4-mini",
        "needs you": "/needs-you/",
        "policies": "/policies/",
        "a policy": f"/policies/{policy.name}/",
        "a new policy": "/policies/new/tool_rule/",
        "keys": "/keys/",
        "system": "/system/",
        "public links": "/public-links/",
        "account": "/account/",
    }
    if key is not None:
        asked["sessions of a key"] = f"/sessions/?range=all&q=key:{quote_plus(key.name)}"
    return {name: partial(str, path) for name, path in asked.items()}


def _session_pages() -> dict[str, Callable[[], str]]:
    """Sessions with an ordinary number of turns, with the most turns, and with the longest requests."""
    usual = Session.objects.order_by("-last_at").annotate(n=Count("streams")).filter(n__gte=10, n__lt=50).first()
    longest = Session.objects.annotate(n=Count("streams")).order_by("-n").first()
    assert usual is not None
    assert longest is not None
    middle = longest.streams.order_by("requested_at")[longest.streams.count() // 2]
    asked = {
        f"a session of {usual.streams.count()} streams": f"/sessions/{usual.pk}/",
        f"a session of {longest.streams.count()} streams": f"/sessions/{longest.pk}/",
        "a turn in its middle": f"/sessions/{longest.pk}/?turn={middle.pk}",
    }
    return {name: partial(str, path) for name, path in asked.items()}


def _stream_pages() -> dict[str, Callable[[], str]]:
    found: dict[str, Callable[[], str]] = {}
    chance = random.Random(5)  # noqa: S311
    for most in (200, 3_100, 110_000):
        stream = stream_of(most)
        other = Stream.objects.filter(session=stream.session_id).exclude(pk=stream.pk).first() or stream
        path, count, words = f"/streams/{stream.pk}/", stream.chunk_count, f"of {stream.chunk_count:,} chunks"
        asked = {
            f"a stream {words}": path,
            f"the peek {words}": f"{path}peek/",
            f"200 chunks {words}": f"{path}chunks/?from={count // 2}",
            f"the request {words}": f"{path}request/",
            f"two tapes {words}": f"{path}tapes/",
            f"tapes, a row further down, {words}": f"{path}tapes/?row={count // 1000}",
            f"a row of two tapes {words}": f"{path}tapes/0/",
            f"to compare with {words}": f"/compare/?a={stream.pk}",
            f"two streams compared, one {words}": f"/compare/?a={stream.pk}&b={other.pk}",
        }
        found |= {name: partial(str, address) for name, address in asked.items()}
        found[f"a moment {words}"] = partial(_moment, path, count, chance)
    return found


def _moment(path: str, chunks: int, chance: random.Random) -> str:
    return f"{path}?at={chance.randrange(chunks)}"
