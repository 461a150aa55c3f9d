"""Exports of streams and sessions, in each format: nothing is lost, and nothing that a model said is active."""

import ast
import json
import re
import subprocess
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db.models.signals import post_init
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from streamviz.dashboard import downloads
from streamviz.dashboard.exports import FORMS, again, markdown
from streamviz.dashboard.exports.markdown_text import fenced, prose
from streamviz.records.exporting import DeletedMeanwhile
from streamviz.records.ids import uuid7
from streamviz.records.models import ApiKey, ClientRun, Download, Session, Stream, UpstreamRun, Verdict
from tests.dashboard.conftest import NOON, Cast, hold, recorded
from tests.records.alive import at_once

SAID = "it's `$HOME` <script>alert(1)</script> ![x](http://elsewhere/x.png)"
REQUEST = {
    "model": "coder-large",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": SAID}],
    "stream": True,
    "temperature": 0.5,
}
RAWS = [b'data: {"n": 1}\n\n', b'data: {"n": 2}\n\n']
MADE = b"data: made\n\n"
HEADERS = {"content-type": "application/json", "openai-beta": "it's=$new", "x-stainless-retry-count": "1"}


@pytest.fixture
def stream(cast: Cast) -> Stream:
    """A stream whose second chunk was changed by a policy."""
    key, _ = ApiKey.objects.issue("dana")
    told = {"status": 200, "key": key, "chunk_count": 2, "frame_count": 2, "user_agent": "agent/1"}
    found = recorded(request=json.dumps(REQUEST).encode(), request_headers=HEADERS, **told)
    hold(found, [SAID], RAWS)
    usual: dict[str, Any] = {"stream": found, "first_at": 0, "offsets": [0]}
    ClientRun.objects.create(**usual, first_frame=0, first_seq=0, lengths=[], payload=b"")
    ClientRun.objects.create(**usual, first_frame=1, origin="guard", lengths=[len(MADE)], payload=MADE)
    return found


def export(cast: Cast, path: str, form: str) -> str:
    answer: Any = cast["bob"].get(f"{path}export/?as={form}")
    assert answer.status_code == 200
    assert answer["Content-Disposition"].endswith(f'.{FORMS[form].suffix}"')
    return async_to_sync(_whole)(answer.streaming_content).decode()


async def _whole(parts: AsyncIterator[bytes]) -> bytes:
    return b"".join([part async for part in parts])


@pytest.fixture
def path(stream: Stream) -> str:
    return f"/streams/{stream.pk}/"


def test_the_two_tapes_come_as_they_are(cast: Cast, path: str) -> None:
    assert export(cast, path, "sse") == b"".join(RAWS).decode()
    assert export(cast, path, "client") == (RAWS[0] + MADE).decode()


def test_files_of_a_stream_have_names_of_their_own(cast: Cast, path: str) -> None:
    names = [cast["bob"].get(f"{path}export/?as={form}").headers["Content-Disposition"] for form in FORMS]
    assert len(set(names)) == len(FORMS)


def test_where_there_are_several_a_comment_names_each(cast: Cast, stream: Stream) -> None:
    other = recorded(session=stream.session, minutes=1)
    hold(other, (), RAWS[:1])
    found = export(cast, f"/sessions/{stream.session_id}/", "sse")
    assert [line for line in found.splitlines() if line.startswith(": stream")] == [
        f": stream {stream.pk}",
        f": stream {other.pk}",
    ]


def test_an_archive_has_what_was_asked_and_what_the_client_got(cast: Cast, path: str) -> None:
    [entry] = json.loads(export(cast, path, "har"))["log"]["entries"]
    assert entry["request"]["url"] == "http://testserver/v1/chat/completions"
    assert json.loads(entry["request"]["postData"]["text"]) == REQUEST
    told = {header["name"]: header["value"] for header in entry["request"]["headers"]}
    assert told == {**HEADERS, "user-agent": "agent/1"}
    assert entry["response"]["content"]["text"] == (RAWS[0] + MADE).decode()
    assert (entry["time"], entry["timings"]["wait"]) == (2000, 2000)


def sent_by(script: str, folder: Path) -> tuple[list[str], bytes]:
    """The arguments and the input of `curl` when a shell runs the script."""
    curl = folder / "curl"
    curl.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > "$0.words"\ncat > "$0.body"\n')
    curl.chmod(0o755)
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "STREAMVIZ_API_KEY": "sv-key"}
    subprocess.run(["/bin/sh"], input=script.encode(), env=environment, check=True)
    words = (folder / "curl.words").read_text().split("\0")[:-1]
    return words, (folder / "curl.body").read_bytes()


@pytest.mark.parametrize(
    "text", ["$HOME `id` it's \\n", "\nBODY\nBODY1\n", "x" * 300_000], ids=["quoted", "lines", "long"]
)
def test_the_shell_sends_any_body(cast: Cast, path: str, tmp_path: Path, text: str) -> None:
    body = json.dumps({"model": "m", "messages": [], "user": "USER"}, indent=1).replace("USER", text).encode()
    Stream.objects.update(request=body)
    _, sent = sent_by(export(cast, path, "curl"), tmp_path)
    assert sent == body + b"\n"


def test_the_shell_sends_the_same_words(cast: Cast, path: str, tmp_path: Path) -> None:
    words, body = sent_by(export(cast, path, "curl"), tmp_path)
    assert words[1] == "http://testserver/v1/chat/completions"
    assert json.loads(body) == REQUEST
    # Headers that affect the answer are sent again, those that identify the sender are not.
    headers = [word for before, word in pairwise(words) if before == "-H"]
    assert headers[1:] == ["content-type: application/json", "openai-beta: it's=$new"]


def test_the_program_sends_the_same_fields(cast: Cast, path: str) -> None:
    [call] = calls_in(export(cast, path, "python"))
    given = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    assert given.pop("extra_headers") == {"openai-beta": "it's=$new"}
    assert {**given.pop("extra_body"), **given} == REQUEST


def calls_in(program: str) -> list[ast.Call]:
    """The calls that send a request."""
    calls = (node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "create"]


def nested(value: object, depth: int) -> object:
    for _ in range(depth):
        value = [value]
    return value


def under_long_names(value: object, depth: int) -> object:
    for number in range(depth):
        value = {f"{number}" * 1_000: value}
    return value


MUCH = {
    "values": nested([0] * 30_000, 190),
    "empty lists": nested([[], {}] * 30_000, 60),
    "text": nested("it's \\ \"\n\u2028 \U0001f600 " * 10_000, 150),
    "lists": nested({}, 195),
    "names": under_long_names(["a b"] * 1_000, 50),
}


@pytest.mark.parametrize("name", MUCH)
@pytest.mark.parametrize("wire_format", ["openai_chat", "openai_responses"])
def test_a_program_is_not_much_longer_than_what_it_sends(db: None, name: str, wire_format: str) -> None:
    fields = {"model": "m", "messages": MUCH[name]}
    body = json.dumps(fields).encode()
    program = b"".join(again.python([recorded(request=body, wire_format=wire_format)], "http://testserver")).decode()
    assert len(program) < 4 * len(body) + 2_000
    [call] = calls_in(program)
    given = {str(each.arg): value_of(each.value) for each in call.keywords}
    assert {**given.pop("extra_body", {}), **given}["messages"] == MUCH[name]


def value_of(node: ast.expr) -> Any:
    """The value that a program passes: a literal, or JSON that it parses from one."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "json.loads":
        return json.loads(ast.literal_eval(node.args[0]))
    return ast.literal_eval(node)


def test_a_program_for_a_format_without_an_sdk_can_be_read(cast: Cast, path: str) -> None:
    Stream.objects.update(wire_format="gemini", endpoint="/v1beta/models")
    program = export(cast, path, "python")
    ast.parse(program)
    assert "/v1beta/models/coder-large:streamGenerateContent?alt=sse" in program


def test_what_was_said_is_text_in_markdown(cast: Cast, path: str) -> None:
    found = export(cast, path, "markdown")
    assert "Be brief." in found
    assert "&lt;script>alert(1)&lt;/script> &#33;[x]" in found


@pytest.mark.parametrize("before", ["", "\\", "\\\\", "\\\\\\", "&", "*"])
def test_nothing_that_was_said_acts_whatever_stands_before_it(db: None, before: str) -> None:
    text = f"{before}<img src=http://elsewhere/1 onerror=alert(1)> {before}![p](http://elsewhere/2.png)"
    stream = recorded(error=text, request=json.dumps({"messages": [{"role": text, "content": text}]}).encode())
    hold(stream, [text])
    assert not {"html_inline", "html_block", "image"} & {each.type for each in read_as_markdown(stream)}


ARGUMENTS = "\n<img src=http://elsewhere/3>\n\n![q](http://elsewhere/4.png)\n"
SIGNS = ["`", "```", "~~~", " ", "    ", "\t", "\n", "\r", "- ", "1. ", "> ", "a", "\n```", "\n  ```"]


@given(st.lists(st.sampled_from(SIGNS), max_size=40).map("".join))
@example("Here:\n```\nls -l")
@example("~~~~\nls\n~~~")
@example("   ```\nls\n    ```")
@example("- a\n\n  ```\nb\n```\nls\n```")
@example("- a\n\n  ```\nb\n```")
@example("- ```\n  ls\n  ```\nb")
@example("> ```\n  ```\n> ```")
@example("```a`b`\n```")
@example("```\x0c\n```\x0c")
def test_what_follows_a_text_is_in_no_fence_of_its(text: str) -> None:
    told = MarkdownIt("commonmark").parse("\n\n".join([prose(text), "call", fenced(ARGUMENTS), "end"]))
    assert [token.content for token in told if token.type == "fence"][-1] == ARGUMENTS + "\n"
    assert told[-2].content == "end"


@pytest.mark.parametrize("shown", [prose, fenced])
def test_what_would_act_on_a_terminal_or_turn_a_line_round_is_named(shown: Callable[[str], str]) -> None:
    assert "one ␛[2J⟨U+202E⟩two\n\tthree" in shown("one \x1b[2J\u202etwo\n\tthree")


def test_a_text_with_whole_fences_keeps_them(db: None) -> None:
    stream = recorded()
    hold(stream, ["1. So:\n\n   ```sh\n   ls\n   ```\n\n~~~~\n~~~\n~~~~\n"])
    assert [each.content for each in read_as_markdown(stream) if each.type == "fence"] == ["ls\n", "~~~\n"]


def test_markdown_tells_how_much_of_a_text_the_client_had_before_a_policy_acted(db: None) -> None:
    stream = recorded(outcome="halted")
    hold(stream, ["Hello, bad world"])
    given: dict[str, Any] = {"stream": stream, "at": NOON, "took_us": 0, "mode": "enforce", "decision": "halt"}
    Verdict.objects.create(**given, number=0, subject="block", ordinal=0, policy_version_id=0, client_had=7)
    assert any("halt block 0. · 7 characters already sent" in each.content for each in read_as_markdown(stream))


def read_as_markdown(stream: Stream) -> list[Token]:
    """All tokens of an export as a Markdown parser sees them, including inline ones."""
    text = b"".join(markdown.write([stream], "http://testserver")).decode()
    return [inner for each in MarkdownIt("commonmark").parse(text) for inner in (each, *(each.children or ()))]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_has_anything_of_the_key(cast: Cast, path: str, form: str) -> None:
    key = ApiKey.objects.get()
    found = export(cast, path, form)
    assert key.digest not in found
    assert key.prefix not in found


def test_a_filtered_list_has_its_streams_and_no_others(cast: Cast, stream: Stream) -> None:
    other = recorded("another", requested_model="other", minutes=1)
    answer: Any = cast["bob"].get("/sessions/export/?range=all&q=model:other")
    lines = [json.loads(line) for line in async_to_sync(_whole)(answer.streaming_content).splitlines()]
    assert [line["stream"]["id"] for line in lines if "stream" in line] == [str(other.pk)]
    assert [next(iter(line)) for line in lines] == ["streamviz", "session", "stream", "end"]


def test_a_stream_that_is_deleted_as_its_export_is_asked_for_is_not_found(
    cast: Cast, stream: Stream, path: str
) -> None:
    def delete(**_: object) -> None:
        Stream.objects.filter(pk=stream.pk).delete()

    post_init.connect(delete, sender=UpstreamRun)
    try:
        assert cast["bob"].get(f"{path}export/?as=sse").status_code == 404
    finally:
        post_init.disconnect(delete, sender=UpstreamRun)


@pytest.mark.parametrize("form", ["jsonl", "har", "curl", "python"])
def test_no_more_is_in_memory_at_once_than_a_few_long_requests(cast: Cast, form: str) -> None:
    request = json.dumps({**REQUEST, "messages": [{"role": "user", "content": "x" * 300_000}]}).encode()
    for number in range(9):
        recorded(request=request, minutes=number)
    answer: Any = cast["bob"].get(f"/sessions/export/?range=all&as={form}")
    with at_once(Stream) as numbers:
        pieces = async_to_sync(_pieces)(answer.streaming_content)
    assert sum(map(len, pieces)) > 9 * 300_000
    assert max(map(len, pieces)) < 1_000_000
    assert max(numbers) <= 3


async def _pieces(parts: AsyncIterator[bytes]) -> list[bytes]:
    return [part async for part in parts]


def test_what_runs_and_what_is_not_there_cannot_be_had(cast: Cast, path: str) -> None:
    assert cast["bob"].get(f"{path}export/?as=pdf").status_code == 404
    Stream.objects.update(outcome="")
    assert cast["bob"].get(f"{path}export/").status_code == 404
    assert Session.objects.count() == 1


@pytest.mark.parametrize("form", ["jsonl", "sse", "client", "har", "markdown"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_file_of_a_stream_that_was_deleted_while_it_was_written_breaks_off(
    stream: Stream, form: str, number: int
) -> None:
    others = [recorded(session=stream.session, minutes=-n) for n in range(1, number)]
    pieces = FORMS[form].write([*others, stream], "http://here")
    # In a tape that is alone in its file, no comment names the stream.
    named = b"" if form in ("sse", "client") and number == 1 else str(stream.pk).encode()
    assert any(named in piece for piece in pieces)
    Stream.objects.filter(pk=stream.pk).delete()
    with pytest.raises(DeletedMeanwhile, match=str(stream.pk)):
        list(pieces)


def test_how_far_a_list_is_can_be_asked_by_whoever_has_it_downloaded(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "_EVERY", 1)
    for number in range(3):
        recorded(requested_model="a" if number else "b")
    progress = f"/sessions/export/{uuid7()}/"
    asked = {"range": "all", "q": "model:a", "as": "jsonl", "progress": progress.split("/")[-2]}

    def told(who: str = "bob") -> str:
        return " ".join(re.sub("<[^>]*>", " ", cast[who].get(progress).content.decode()).split())

    assert told() == "Export begins…"
    pieces: Any = cast["bob"].get("/sessions/export/", asked)
    streams = downloads.counted(Stream.objects.filter(requested_model="a"), lambda: 2, *_named(asked))
    next(streams)
    next(streams)
    assert told() == "Exporting: 1 of 2 streams"
    assert told("alice") == "Export begins…"
    Download.objects.update(updated_at=NOON - timedelta(days=9))
    assert told() == "The export stopped after 1 stream."
    assert list(streams) == []
    assert told() == "Exported 2 streams."
    body = async_to_sync(_whole)(pieces.streaming_content).decode()
    assert body.count('{"stream":') == 2, "the same id again counts nothing anew"


def test_a_slow_export_is_not_taken_for_one_that_stopped(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "_EVERY_SECONDS", 0.0)
    recorded()
    recorded()
    download_id = uuid7()
    streams = downloads.counted(Stream.objects.all(), lambda: 2, download_id, User.objects.get(username="bob"))
    next(streams)
    Download.objects.update(updated_at=NOON - timedelta(days=9))
    next(streams)
    assert Download.objects.get(pk=download_id).updated_at > NOON - timedelta(days=9)


def _named(asked: dict[str, str]) -> tuple[UUID, User]:
    return UUID(asked["progress"]), User.objects.get(username="bob")


@pytest.mark.parametrize("path", ["/sessions/export/?range=all&", "/sessions/{}/export/?"], ids=["list", "session"])
def test_a_download_is_counted_as_it_is_had(cast: Cast, path: str) -> None:
    session = recorded().session_id
    download_id = uuid7()
    answer: Any = cast["bob"].get(f"{path.format(session)}progress={download_id}")
    async_to_sync(_whole)(answer.streaming_content)
    assert list(Download.objects.values_list("id", "streams", "total", "is_whole")) == [(download_id, 1, 1, True)]
