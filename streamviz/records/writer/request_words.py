"""Storing the words of requests, so that they can be searched for."""

from collections.abc import Sequence

import psycopg

from streamviz.records.request_index import StoredRequest, write_words
from streamviz.records.writer.pending import Batch


def write_request_words(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Of the streams that began. A request that is not kept has none."""
    opened = (batch.opened for batch in batches if batch.opened and batch.opened.request)
    requests = (StoredRequest(each.stream_id, each.session_id, each.request, each.wire_format) for each in opened)
    write_words(cursor, list(requests))
