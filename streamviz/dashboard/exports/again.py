"""Requests as commands that send them again. The key comes from the environment of whoever runs them."""

import json
from collections.abc import Iterable, Iterator
from itertools import count
from pprint import pformat
from shlex import quote
from typing import NamedTuple

from streamviz.core.wire import ANTHROPIC_MESSAGES, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.dashboard.exports.requests import Sent, sent
from streamviz.live.presentation.text import one_line
from streamviz.records.models import Stream

KEY = "STREAMVIZ_API_KEY"
_WIDTH = 110
# Even without room, a line has a word of this many characters.
_SHORTEST = 5
# Python reads at most 200 nested brackets.
_MOST_INDENT = 180
_MOST_BLANKS = 500_000


class _Sdk(NamedTuple):
    """How an SDK is called: its client, its method, and the fields of a request that the method takes by name."""

    client: str
    path: str
    method: str
    own: tuple[str, ...]


_SDKS = {
    OPENAI_CHAT.name: _Sdk("openai.OpenAI", "/v1", "chat.completions.create", ("model", "messages", "stream")),
    OPENAI_RESPONSES.name: _Sdk("openai.OpenAI", "/v1", "responses.create", ("model", "input", "stream")),
    ANTHROPIC_MESSAGES.name: _Sdk(
        "anthropic.Anthropic", "", "messages.create", ("model", "messages", "max_tokens", "stream")
    ),
}


def curl(streams: Iterable[Stream], base_url: str) -> Iterator[bytes]:
    """A shell script with a command for each stream."""
    yield f"#!/bin/sh\n# {KEY} is the streamviz key that it is sent with.\n".encode()
    for stream in streams:
        found = sent(stream)
        yield f"\n# {_title(stream)}\n".encode()
        yield _curl(found, base_url).encode() if found.fields else b"# its request was not kept\n"


def _curl(found: Sent, base_url: str) -> str:
    body = found.body.decode("utf-8", "replace")
    lines = [
        f"curl --no-buffer {quote(base_url + found.path)}",
        f'-H "Authorization: Bearer ${KEY}"',
        "-H 'content-type: application/json'",
        *(f"-H {quote(f'{name}: {value}')}" for name, value in found.headers_again.items()),
        # Not as an argument: Linux takes 128 KiB in one, and agents' requests are longer.
        f"--data-binary @- <<'{(end := _no_line_of(body))}'",
    ]
    return " \\\n  ".join(lines) + f"\n{body}\n{end}\n"


def _no_line_of(body: str) -> str:
    """A word that is no line of the body, as shells read it: without NUL."""
    lines = set(body.replace("\0", "").splitlines())
    return next(word for number in count() if (word := f"BODY{number or ''}") not in lines)


def python(streams: Iterable[Stream], base_url: str) -> Iterator[bytes]:
    """A Python program with a call for each stream, with its vendor's SDK if it has one."""
    yield f"# {KEY} is the streamviz key that it is sent with.\nimport json\nimport os\n".encode()
    for stream in streams:
        found = sent(stream)
        yield f"\n# {_title(stream)}\n".encode()
        yield _python(stream, found, base_url).encode() if found.fields else b"# its request was not kept\n"


def _python(stream: Stream, found: Sent, base_url: str) -> str:
    sdk = _SDKS.get(stream.wire_format)
    return _with_sdk(sdk, found, base_url) if sdk else _without_sdk(found, base_url)


def _with_sdk(sdk: _Sdk, found: Sent, base_url: str) -> str:
    own = [f"    {name}={_literal(found.fields[name])}," for name in sdk.own if name in found.fields]
    rest = {name: value for name, value in found.fields.items() if name not in sdk.own}
    more = [f"    extra_body={_literal(rest)},"] if rest else []
    more += [f"    extra_headers={_literal(headers)},"] if (headers := found.headers_again) else []
    shown = ["for event in answer:", "    print(event)"] if found.fields.get("stream") is True else ["print(answer)"]
    lines = [
        f"import {sdk.client.partition('.')[0]}",
        f'client = {sdk.client}(base_url={base_url + sdk.path!r}, api_key=os.environ["{KEY}"])',
        f"answer = client.{sdk.method}(",
        *own,
        *more,
        ")",
        *shown,
    ]
    return "\n".join(lines) + "\n"


def _without_sdk(found: Sent, base_url: str) -> str:
    lines = [
        "import httpx",
        f'headers = {{"authorization": f"Bearer {{os.environ[\'{KEY}\']}}", **{found.headers_again!r}}}',
        f"body = {_literal(found.fields)}",
        f"print(httpx.post({base_url + found.path!r}, json=body, headers=headers, timeout=None).text)",
    ]
    return "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    """A value as Python source, with further lines indented below an argument; or as JSON on one line, if those lines
    would be much longer than what they say, or more deeply nested than Python reads."""
    if _blanks(value) > _MOST_BLANKS:
        return f"json.loads({json.dumps(value, ensure_ascii=False)!r})"
    return pformat(value, width=_WIDTH, sort_dicts=False).replace("\n", "\n    ")


def _blanks(value: object, indent: int = 0) -> int:
    """About how much all lines of a value are indented: one line per value, and for a text as many as it needs."""
    if indent > _MOST_INDENT:
        return _MOST_BLANKS + 1
    if isinstance(value, dict):
        return indent + sum(_blanks(each, indent + len(name) + 4) for name, each in value.items())
    if isinstance(value, list):
        return indent + sum(_blanks(each, indent + 1) for each in value)
    return indent * (1 + len(value) // max(_SHORTEST, _WIDTH - indent)) if isinstance(value, str) else indent


def _title(stream: Stream) -> str:
    """A comment must stay on its line, whatever a client named its model."""
    return one_line(f"{stream.requested_at:%Y-%m-%d %H:%M:%S} {stream.requested_model}, stream {stream.pk}", 200)
