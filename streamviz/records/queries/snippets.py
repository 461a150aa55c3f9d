"""Where the words of a search are in a stream, with the text around them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from streamviz.records.models import Block
from streamviz.records.queries.found_words import Piece, pieces_of, words_pattern
from streamviz.records.queries.rows import limited, rows
from streamviz.records.queries.streams import requests_of
from streamviz.records.request_words import MOST_CHARACTERS, RequestText, Words

# Index block_ordinal, only for a page's streams.
_BLOCKS = """
SELECT DISTINCT ON (stream_id) stream_id, ordinal FROM records_block
WHERE stream_id = ANY(%(ids)s) AND search @@ streamviz_query(%(text)s)
ORDER BY stream_id, ordinal
"""


class Snippet(NamedTuple):
    """What was found in a stream: in the block `ordinal`, or in the request if that is None. `whose` says what it is: a
    tool's name, a kind of block, or a role."""

    stream_id: UUID
    ordinal: int | None
    whose: str
    pieces: Sequence[Piece]


def snippets(text: str, stream_ids: Iterable[UUID]) -> dict[UUID, Snippet]:
    """What was found in each of a page's streams; none for those that were found only by a name or an id.

    Raises SearchTooBroad.
    """
    wanted, ids = words_pattern(text), list(stream_ids)
    if wanted is None or not ids:
        return {}
    with limited():
        ordinals = dict(rows(_BLOCKS, {"ids": ids, "text": text.replace("\x00", " ")}))
    found = {each.stream_id: each for each in _in_blocks(wanted, ordinals)}
    for stream_id, wire_format, request in requests_of(each for each in ids if each not in ordinals):
        if (snippet := _in_request(wanted, stream_id, RequestText(request, wire_format))) is not None:
            found[stream_id] = snippet
    return found


def _in_blocks(wanted: re.Pattern[str], ordinals: dict[UUID, int]) -> Iterator[Snippet]:
    blocks = Block.objects.filter(stream_id__in=ordinals, ordinal__in=set(ordinals.values())).order_by()
    for block in blocks.only("stream_id", "ordinal", "kind", "name", "text"):
        if ordinals[block.stream_id] == block.ordinal:
            whose = block.name or block.get_kind_display().replace("_", " ")
            pieces = pieces_of(wanted, block.text[:MOST_CHARACTERS])
            yield Snippet(block.stream_id, block.ordinal, whose, pieces or [Piece(block.name, True)])


def _in_request(wanted: re.Pattern[str], stream_id: UUID, request: RequestText) -> Snippet | None:
    for words in _texts(request):
        if pieces := pieces_of(wanted, words.text[:MOST_CHARACTERS]):
            return Snippet(stream_id, None, words.whose or "request", pieces)
    return None


def _texts(request: RequestText) -> Iterator[Words]:
    yield from request.new()
    yield from request.over()
    yield from request.before()
