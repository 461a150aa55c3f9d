"""Sending LiteLLM's calls: only the one that was asked for, its answer within bounds, its refusal as the provider wrote
it.

By itself LiteLLM would fetch images from URLs in a request, prompt templates from Hugging Face, a model's prices from a
server on this machine, and credentials from a cloud's metadata service.
"""

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

import httpx

from streamviz.core.bounds import Bounds
from streamviz.core.error_words import error_of
from streamviz.core.errors import UpstreamError, unanswered
from streamviz.core.json_value import as_object, object_in
from streamviz.upstream.bounded_body import ENCODINGS, EVENTS, LINES, UNBOUNDED, BoundedBody, require_few_values
from streamviz.upstream.told_errors import MOST_OF_AN_ERROR, error_in, refusal, status_in

# How many characters of patterns are compiled for one call, at 5 to 25 µs each.
_MOST_OF_PATTERNS = 10_000
# A header of calls that LiteLLM makes with OpenAI's SDK.
_OPENAIS = "x-stainless-lang"
# How answers that are not streams begin.
_JSON = (b"{", b"[")
# Members of a real answer; with one of these, an error is only part of the answer.
_ANSWERS = ("candidates", "choices", "content", "data", "message", "output")
_send, _send_async = httpx.Client.send, httpx.AsyncClient.send


class UnaskedCall(httpx.RequestError):
    """A call that LiteLLM wanted to make besides the one that was asked for."""


class Sending:
    """One call of LiteLLM's. If it fails before it `has_begun`, the request is at fault; if it fails once it
    `is_accepted`, the answer is. `refusal` is the provider's, if it refused the last attempt. Also holds the bounds of
    the answer, the call's credential, and which patterns in the call's schemas were found invalid."""

    def __init__(self, bounds: Bounds = UNBOUNDED, key: str = "") -> None:
        self.bounds, self.key = bounds, key
        self.has_begun = self.is_accepted = False
        self.refusal: UpstreamError | None = None
        self._of_patterns = 0
        self._found: dict[str, bool] = {}
        _sending.set(self)

    def is_no_pattern(self, pattern: str, compile_it: Callable[[str], bool]) -> bool:
        """Whether a pattern is invalid, as `compile_it` finds out. Each is compiled once, as tools repeat them. If
        there is more to compile than anybody writes, the rest is left to the provider to judge."""
        if pattern not in self._found:
            self._of_patterns += len(pattern)
            self._found[pattern] = self._of_patterns <= _MOST_OF_PATTERNS and compile_it(pattern)
        return self._found[pattern]


_sending: ContextVar[Sending | None] = ContextVar("sending", default=None)


def sending_here() -> Sending | None:
    """The current call."""
    return _sending.get()


def bounds_here() -> Bounds:
    """The bounds of the current call."""
    return UNBOUNDED if (sending := _sending.get()) is None else sending.bounds


def _require_asked(request: httpx.Request) -> None:
    """Raises UnaskedCall for anything but a POST: that is how models are called, and anything that is fetched is
    something else."""
    if request.method != "POST":
        said = f"{request.url.host} was not called: streamviz calls nothing but the model"
        raise UnaskedCall(said, request=request)
    if (sending := _sending.get()) is not None:
        sending.has_begun, sending.refusal = True, None


def _send_only_asked(client: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
    _require_asked(request)
    return _send(client, request, **{**options, "follow_redirects": False})


async def _send_only_asked_async(client: httpx.AsyncClient, request: httpx.Request, **options: Any) -> httpx.Response:
    """Redirects are not followed either: they would send the request to an address that no operator chose."""
    _require_asked(request)
    request.headers["accept-encoding"] = ENCODINGS
    response = await _send_async(client, request, **{**options, "stream": True, "follow_redirects": False})
    is_streaming = bool(options.get("stream"))
    bounds = bounds_here()
    _bound(response, bounds, has_lines=is_streaming)
    if response.status_code < 200 or 300 <= response.status_code < 400:
        await response.aclose()
        raise unanswered(response.status_code)
    if response.status_code >= 400:
        return _noted(await _refusal(response))
    response.status_code = 200  # LiteLLM treats some others, such as 204, as refusals
    if not is_streaming:
        await _read(response, bounds)
        if status := _status_told(response.content):
            return _noted(saying(response, response.content, status))
    if (sending := _sending.get()) is not None:
        sending.is_accepted = True
    return response


def _noted(refused: httpx.Response) -> httpx.Response:
    """Note the refusal as the provider wrote it, because LiteLLM loses part of it. LiteLLM still gets it: it may leave
    something out of the request and call again."""
    if (sending := _sending.get()) is not None:
        sending.refusal = refusal(refused.status_code, refused.content, refused.headers, sending.key)
    return refused


def _bound(response: httpx.Response, bounds: Bounds, *, has_lines: bool) -> None:
    """Bound the response's body and unpack it here: httpx would unpack each piece at once, to a thousand times its
    length."""
    packing = response.headers.pop("content-encoding", "").lower()
    # Amazon's events are not lines.
    has_lines = has_lines and "vnd.amazon" not in response.headers.get("content-type", "")
    ends = EVENTS if _OPENAIS in response.request.headers else LINES
    assert isinstance(response.stream, httpx.AsyncByteStream)
    sending = _sending.get()
    error_told = partial(error_in, key="" if sending is None else sending.key)
    response.stream = BoundedBody(response.stream, packing, bounds, ends if has_lines else (), error_told)


async def _read(response: httpx.Response, bounds: Bounds) -> None:
    """Read the whole body. Raises UpstreamError if it is too much, or not JSON, such as a web page, which LiteLLM would
    report as the request's fault."""
    try:
        body = await response.aread()
    finally:
        await response.aclose()
    require_few_values(body, bounds)
    if body.lstrip()[:1] not in _JSON and not _has_events(response):
        raise UpstreamError(502, "upstream sent something that is not JSON")


def _has_events(response: httpx.Response) -> bool:
    return "event-stream" in str(response.headers.get("content-type", ""))


async def _refusal(response: httpx.Response) -> httpx.Response:
    """The response with only the beginning of its body: LiteLLM takes 12 s per megabyte to look for credentials in
    it."""
    body = b""
    with suppress(UpstreamError, httpx.HTTPError):  # a refusal that is cut off or cannot be unpacked still counts
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MOST_OF_AN_ERROR:
                break
    await response.aclose()
    return saying(response, body[:MOST_OF_AN_ERROR])


def _is_filled(value: object) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _status_told(body: bytes) -> int:
    """The status of an error that is in an answer's place although the provider's status says that all is well; 0 if
    there is none. If the error has no HTTP status, the provider is at fault (502)."""
    told = object_in(body) if len(body) <= MOST_OF_AN_ERROR else {}
    # A response object that failed is an answer, with the error as a part of it.
    is_answer = told.get("object") == "response" or any(map(_is_filled, map(told.get, _ANSWERS)))
    error = None if is_answer else error_of(told)
    return status_in(as_object(error)) if error else 0


def saying(response: httpx.Response, body: bytes, status: int = 0) -> httpx.Response:
    """The response with another body, and with another `status` if one is given."""
    of_body = ("content-encoding", "content-length", "transfer-encoding")
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in of_body]
    return httpx.Response(status or response.status_code, headers=headers, content=body, request=response.request)


def send_only_what_is_asked() -> None:
    """Make httpx, which only LiteLLM uses in a server, refuse all calls that are not calls of models."""
    httpx.Client.send = _send_only_asked  # type: ignore[method-assign, assignment]
    httpx.AsyncClient.send = _send_only_asked_async  # type: ignore[method-assign, assignment]
