"""Streams as Markdown: what was new in each request, and the answer. What models and clients wrote stays text."""

from collections.abc import Iterable, Iterator
from uuid import UUID

from streamviz.core.events import BlockKind
from streamviz.core.request_outline import RequestOutline, new_in, outline_of, parts_of, system_of, tools_of
from streamviz.core.request_parts import Part, PartKind
from streamviz.core.verdicts import Decision
from streamviz.core.wire import WIRE_FORMATS
from streamviz.dashboard.exports.markdown_text import fenced, line, prose
from streamviz.live.presentation.block_views import described
from streamviz.live.presentation.figures import plural
from streamviz.records.exporting import whole
from streamviz.records.models import Block, Stream, Verdict
from streamviz.records.queries.streams import policy_of, verdicts_of


def write(streams: Iterable[Stream], base_url: str) -> Iterator[bytes]:
    """One chapter per stream, with a part for each of its request's new messages and its blocks."""
    outlines: dict[UUID, RequestOutline] = {}
    for stream in whole(streams):
        for text in _chapter(stream, outlines):
            yield f"{text}\n\n".encode("utf-8", "replace")


def _chapter(stream: Stream, outlines: dict[UUID, RequestOutline]) -> Iterator[str]:
    at = f"{stream.requested_at:%Y-%m-%d %H:%M:%S}"
    yield f"# {at} {line(stream.requested_model)}"
    yield line(f"{stream.outcome or 'running'} · session {stream.session} · stream {stream.pk}")
    yield "## Request"
    yield from _request(stream, outlines)
    yield "## Answer"
    for block in stream.blocks.all():
        yield from _block(block)
    for verdict in verdicts_of(stream):
        if verdict.decision != Decision.ALLOW:
            yield _verdict(verdict)
    if stream.error:
        yield f"**Error** {line(stream.error)}"


def _request(stream: Stream, outlines: dict[UUID, RequestOutline]) -> Iterator[str]:
    wire_format = WIRE_FORMATS.get(stream.wire_format)
    if wire_format is None or not stream.request:
        yield "*not kept*"
        return
    outline = outline_of(bytes(stream.request), wire_format)
    before = outlines.pop(stream.parent, None) if stream.parent else None
    outlines[stream.pk] = outline
    if before is None:
        yield from _offered(outline)
    new = new_in(outline, before)
    for turn in outline.turns[new.first + new.answered :]:
        for part in parts_of(turn, wire_format):
            yield from _part(part)


def _offered(outline: RequestOutline) -> Iterator[str]:
    if system := system_of(outline):
        yield "**system**"
        yield prose(system)
    if tools := tools_of(outline):
        yield f"**tools** {', '.join(f'`{line(name)}`' for name in tools)}"


def _part(part: Part) -> Iterator[str]:
    named = f" `{line(part.name)}`" if part.name else ""
    yield f"**{line(part.role) or 'user'}** {part.kind.replace('_', ' ')}{named}"
    yield prose(part.text) if part.kind in (PartKind.TEXT, PartKind.THINKING) else fenced(part.text)


def _block(block: Block) -> Iterator[str]:
    named = f" `{line(block.name)}`" if block.name else ""
    yield f"**{block.kind.replace('_', ' ')}**{named}"
    if block.length and not block.text:
        yield f"*{block.length} characters, not kept*"
    elif media := described(block.text) if block.kind == BlockKind.MEDIA else []:
        yield "\n".join(f"- {line(each)}" for each in media)
    else:
        is_prose = block.kind in (BlockKind.CONTENT, BlockKind.THINKING, BlockKind.REFUSAL)
        yield prose(block.text) if is_prose else fenced(block.text)


def _verdict(verdict: Verdict) -> str:
    would = "would " if verdict.mode == "shadow" else ""
    about = f"the {verdict.subject}" if verdict.ordinal is None else f"block {verdict.ordinal}"
    by = f" by {verdict.by}" if verdict.by else ""
    policy, _ = policy_of(verdict)
    said = f"{policy}: {would}{verdict.decision} {about}{by}. {verdict.reason}"
    had = f" · {plural(verdict.client_had, 'character')} already sent" if verdict.client_had else ""
    return f"> {line(said)}{had}"
