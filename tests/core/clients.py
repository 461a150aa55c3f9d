"""What a client gets from some bytes: everything that the vendors' Python SDKs hand out, whatever it is.

Nothing here knows what a block is. Each object that an SDK hands out, per event, from its helpers and at the end, is
walked completely; consecutive pieces in the same place are joined.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import anthropic
import httpx2
import openai
from anthropic._streaming import Stream as AnthropicStream
from anthropic.lib.streaming import MessageStream
from anthropic.types import Message, RawMessageStreamEvent
from google import genai
from google.genai import models as google_models
from google.genai._api_client import HttpResponse
from google.genai.types import GenerateContentResponse, HttpOptions
from openai import omit
from openai._streaming import Stream as OpenAIStream
from openai.lib.streaming.chat import ChatCompletionStream
from openai.lib.streaming.responses import ResponseStream
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel

_PLACES = ("type", "index", "output_index", "content_index", "summary_index", "item_id")
# A helper's event also has the whole as it is so far; that is examined only once, at its end.
_WHOLES = frozenset({"snapshot", "chunk", "parsed_snapshot"})
_OPENAI = openai.OpenAI(api_key="none", base_url="http://upstream.test/v1")
_ANTHROPIC = anthropic.Anthropic(api_key="none", base_url="http://upstream.test")
_REQUEST = httpx2.Request("POST", "http://upstream.test/v1")


class _Google:
    """Google's client, with a server that gives the current answer to every request."""

    def __init__(self) -> None:
        self._answer = httpx2.Response(200)
        transport = httpx2.MockTransport(lambda request: self._answer)
        options = HttpOptions(base_url="http://upstream.test", client_args={"transport": transport})
        self._client = genai.Client(api_key="none", http_options=options)

    def stream(self, answer: httpx2.Response) -> Iterator[GenerateContentResponse]:
        self._answer = answer
        return self._client.models.generate_content_stream(model="m", contents="?")

    def whole(self, answer: httpx2.Response) -> GenerateContentResponse:
        self._answer = answer
        return self._client.models.generate_content(model="m", contents="?")


_GOOGLE = _Google()


class Leaf(NamedTuple):
    """A text that an SDK handed out: its path, the `type` of each object around it, outermost first, and how many steps
    of the path lead to the first object with a member that the SDK has no field for (`_ALL` if there is none)."""

    path: tuple[str, ...]
    types: tuple[str, ...]
    text: str
    known: int


_ALL = 1_000


def handed_out(format: str, answer: bytes, *, is_streaming: bool, kind: str) -> list[Leaf]:
    """Every text that a format's SDK gives its caller for an answer of this content type.

    For events in reply to a request without streaming, the SDKs give the bytes, which a caller may parse as events.
    """
    response = httpx2.Response(200, content=answer, headers={"content-type": kind}, request=_REQUEST)
    if is_streaming or kind.startswith("text/event-stream"):
        if format == "gemini":
            return list(_google_leaves(response))
        return [*_joined(_raw(format, response)), *_helped(format, _again(response))]
    return [leaf for part in _whole(format, response) for leaf in leaves(part)]


def leaves(value: object) -> list[Leaf]:
    """Every text in an SDK's object, in order, including keys."""
    found: list[Leaf] = []
    _find(value, (), (), _ALL, found)
    return found


def _find(value: object, path: tuple[str, ...], types: tuple[str, ...], known: int, found: list[Leaf]) -> None:
    """Written for speed: nearly all of a test's time is spent here."""
    if isinstance(value, str):
        found.append(Leaf(path, types, value, known))
    elif (members := _members(value)) is not None:
        told = members.get("type")
        types = (*types, told) if isinstance(told, str) else types
        fields = type(value).model_fields if isinstance(value, BaseModel) else members
        for name, member in members.items():
            under = known if name in fields else min(known, len(path))
            found.append(Leaf((*path, "{}"), types, str(name), under))
            if member is not None:
                _find(member, (*path, str(name)), types, under, found)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            index = (_members(item) or {}).get("index", number)
            _find(item, (*path, f"[{index}]"), types, known, found)


def _members(value: object) -> dict[str, Any] | None:
    if isinstance(value, BaseModel):
        return {**value.__dict__, **(value.__pydantic_extra__ or {})}
    return value if isinstance(value, dict) else None


def _again(response: httpx2.Response) -> httpx2.Response:
    return httpx2.Response(200, content=response.content, headers=response.headers, request=_REQUEST)


def _stream(format: str, response: httpx2.Response) -> Any:
    if format == "anthropic_messages":
        event: Any = RawMessageStreamEvent
        return AnthropicStream(cast_to=event, response=response, client=_ANTHROPIC)
    kinds: dict[str, Any] = {"openai_chat": ChatCompletionChunk, "openai_responses": ResponseStreamEvent}
    return OpenAIStream(cast_to=kinds[format], response=response, client=_OPENAI)


def _given(stream: Any) -> Iterator[Any]:
    """What a stream yields until it raises."""
    try:
        yield from stream
    except Exception:
        return


def _raw(format: str, response: httpx2.Response) -> Iterator[Any]:
    yield from _given(_stream(format, response))


def _joined(events: Iterator[Any]) -> list[Leaf]:
    """The texts of events; pieces with the same place are joined."""
    found: dict[object, tuple[Leaf, list[str]]] = {}
    alone: list[Leaf] = []
    for event in events:
        members = _members(event) or {}
        place = tuple(str(members.get(name)) for name in _PLACES)
        for leaf in leaves(event):
            if leaf.path[-1:] == ("{}",):
                alone.append(leaf)
            else:
                found.setdefault((place, leaf.path), (leaf, []))[1].append(leaf.text)
    return [*alone, *(leaf._replace(text="".join(texts)) for leaf, texts in found.values())]


def _helped(format: str, response: httpx2.Response) -> list[Leaf]:
    """What the SDK's helper for streams adds to the raw events, and what it has assembled in the end."""
    raw: Any = _stream(format, response)
    helper: Any
    if format == "openai_chat":
        helper = ChatCompletionStream(raw_stream=raw, response_format=omit, input_tools=omit)
    elif format == "openai_responses":
        helper = ResponseStream(raw_stream=raw, text_format=omit, input_tools=omit, starting_after=None)
    else:
        helper = MessageStream(raw_stream=raw, output_format=anthropic.NOT_GIVEN)
    found = [leaf for event in _given(helper) for leaf in _own(event)]
    return found + [leaf for whole in _snapshots(format, helper) for leaf in leaves(whole)]


def _google_leaves(response: httpx2.Response) -> Iterator[Leaf]:
    """What each chunk gives, to Python and to clients that know the same members but check no types; also the answer's
    text and thinking, assembled from all chunks."""
    chunks = list(_given(_GOOGLE.stream(response)))
    for chunk in (*chunks, *_given(_google_chunks(_again(response)))):
        yield from leaves(chunk)
    parts = [part for chunk in chunks for part in chunk.parts or [] if part.text]
    for name, is_thought in (("text", False), ("thinking", True)):
        text = "".join(part.text for part in parts if bool(part.thought) is is_thought)
        yield Leaf(("content", name), (), text, _ALL)


def _google_chunks(response: httpx2.Response) -> Iterator[object]:
    for chunk in HttpResponse({}, response).segments():
        yield google_models._GenerateContentResponse_from_mldev(chunk)


def _own(event: Any) -> Iterator[Leaf]:
    """What a helper added to an event: the rest was in the raw one."""
    members = {name: member for name, member in (_members(event) or {}).items() if name not in _WHOLES}
    if str(members.get("type")).endswith((".done", "completed")) or "snapshot" in (_members(event) or {}):
        yield from leaves(members)


def _snapshots(format: str, helper: Any) -> Iterator[object]:
    paths: dict[str, list[Callable[[], object]]] = {
        "openai_chat": [lambda: helper.current_completion_snapshot],
        "openai_responses": [
            lambda: helper._state._ResponseStreamState__current_snapshot,
            lambda: helper._state._completed_response,
        ],
        "anthropic_messages": [
            lambda: helper.current_message_snapshot,
            lambda: [raw.decode("utf-8", "replace") for raw in helper._MessageStream__json_bufs.values()],
        ],
    }
    for take in paths[format]:
        with suppress(Exception):  # It may not have begun.
            yield take()


def _whole(format: str, response: httpx2.Response) -> Iterator[object]:
    """What the SDK gives for an answer that does not stream."""
    if format == "gemini":
        with suppress(Exception):  # Raises if the body is not such an answer.
            yield google_models._GenerateContentResponse_from_mldev(_again(response).json())
        with suppress(Exception):
            yield _GOOGLE.whole(response)
        return
    try:
        value = response.json()
    except ValueError:
        return
    kinds: dict[str, Any] = {"openai_chat": ChatCompletion, "openai_responses": Response, "anthropic_messages": Message}
    client: Any = _ANTHROPIC if format == "anthropic_messages" else _OPENAI
    try:
        made = client._process_response_data(data=value, cast_to=kinds[format], response=response)
    except Exception:
        return
    yield made
    if format == "openai_responses":
        try:
            yield made.output_text
        except Exception:
            return


def readings(text: str) -> Iterator[str]:
    """A text as it is, and as a parser that decodes its escapes reads it."""
    yield text
    if "\\" in text:
        try:
            yield json.dumps(json.loads(text), ensure_ascii=False)
        except ValueError:
            yield text.encode("utf-8", "replace").decode("unicode_escape", "replace")
