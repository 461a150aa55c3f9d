"""The forms in which streams can be exported."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from streamviz.dashboard.exports import again, har, markdown, sse
from streamviz.records.exporting import export_streams
from streamviz.records.models import Stream

Write = Callable[[Iterable[Stream], str], Iterator[bytes]]


class Form(NamedTuple):
    """A form in which streams can be exported. `write` gets this server's address."""

    name: str
    words: str
    suffix: str
    content_type: str
    write: Write


def _lines(streams: Iterable[Stream], base_url: str) -> Iterator[bytes]:
    return export_streams(streams)


_TEXT = "text/plain; charset=utf-8"
FORMS = {
    "jsonl": Form("JSONL", "everything, with times", "jsonl", "application/jsonl; charset=utf-8", _lines),
    "sse": Form("SSE", "as upstream sent it", "sse", _TEXT, sse.from_upstream),
    "client": Form("SSE", "as the client got it", "client.sse", _TEXT, sse.to_client),
    "har": Form("HAR", "for browsers' tools and proxies", "har", "application/json", har.write),
    "markdown": Form("Markdown", "to read and to paste", "md", "text/markdown; charset=utf-8", markdown.write),
    "curl": Form("curl", "sends the request again", "sh", _TEXT, again.curl),
    "python": Form("Python", "the same, with the SDK", "py", _TEXT, again.python),
}
