"""The raw lane: a provider's own bytes, carried by aiohttp."""

import asyncio
import os
import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import aiohttp
from aiohttp.client_proto import ResponseHandler

from streamviz.core.error_words import said_in
from streamviz.core.errors import HUNG_UP, RESET, UpstreamError, unanswered
from streamviz.core.json_value import as_object, as_text, decode, encode
from streamviz.upstream.bounded_body import ENCODINGS
from streamviz.upstream.proxies import proxy_for
from streamviz.upstream.quoted_keys import QuotedKey
from streamviz.upstream.redaction import MOST_CHARACTERS, told_headers, without
from streamviz.upstream.targets import Target
from streamviz.upstream.told_errors import known_status, words_of_refusal

CONNECT_SECONDS = 10
READ_BYTES = 256 * 1024
# How much of an unread answer the kernel holds. By default it takes up to tens of megabytes per connection, and an
# upstream whose client reads slowly would not notice.
SOCKET_BYTES = 1024 * 1024

# Both are UTF-8. A client that decoded another charset would read something other than what was judged.
_KIND = re.compile(r"(text/event-stream|application/json)(?:\s*;\s*charset=\"?utf-?8\"?)?\s*", re.IGNORECASE)
# A refusal gives its reason in a few lines; a longer one is not read.
MOST_OF_A_REFUSAL = 1024 * 1024
# What keeps an answer from coming.
FAILURES = (aiohttp.ClientError, OSError)
# What aiohttp puts before its message about an answer that is not HTTP.
_BEFORE = re.compile(r"^\d{3}, message:\s*")
# Where aiohttp's message begins to quote bytes or another error.
_QUOTES = re.compile(r"\n|: b['\"]|: <")


def new_client(silence_seconds: float) -> aiohttp.ClientSession:
    """A session for a whole process: it keeps connections open. Must be made inside the event loop.

    An upstream that sends nothing for `silence_seconds` is given up.
    """
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silence_seconds)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60, socket_factory=_bounded_socket)
    connector._factory = partial(_connection, asyncio.get_running_loop())
    return aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        read_bufsize=READ_BYTES,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"accept-encoding": ENCODINGS},
    )


class _Connection(ResponseHandler):
    """A connection to a provider. aiohttp resumes its parser and the socket after each piece of a read, which takes as
    long as reading the piece: here they resume after the last."""

    __slots__ = ()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Called by aiohttp for each piece that is taken, and at the end of a body."""
        if not (resume_parser and self._payload is not None and self._payload._buffer):
            super().resume_reading(resume_parser)


def _connection(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return _Connection(loop)


def _bounded_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BYTES)
    return made


class RawAnswer:
    """A provider's answer as it is sent. It is given up if nothing comes for `silence_seconds`. `key` is the credential
    of the call, which is masked if the answer quotes it."""

    left_out: tuple[str, ...] = ()

    def __init__(self, response: aiohttp.ClientResponse, silence_seconds: float, key: str) -> None:
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = passed_on(response.headers, key)
        self._quoted = QuotedKey(key)
        self._loop = asyncio.get_running_loop()
        self._silence_seconds = silence_seconds
        self._waits_since: float | None = None
        self._watch = self._loop.call_later(silence_seconds, self._give_up_if_silent)
        if response.connection is not None and response.connection.protocol is not None:
            # aiohttp makes a new timer for each read, which for a lone chunk is a twentieth of its whole cost.
            response.connection.protocol.read_timeout = None

    def __aiter__(self) -> "RawAnswer":
        return self

    async def __anext__(self) -> bytes:
        while data := await self._read():
            if told := self._quoted.without(data):
                return told
        if rest := self._quoted.rest():
            return rest
        raise StopAsyncIteration

    @property
    def has_ended(self) -> bool:
        """Whether all of it was read, and none of it is held back."""
        return self._response.content.at_eof() and not self._quoted.has_begun

    async def _read(self) -> bytes:
        """The next bytes; empty at the end."""
        self._waits_since = self._loop.time()
        try:
            data = await self._response.content.readany()
        except TimeoutError as error:
            raise UpstreamError(504, "upstream was silent for too long") from error
        except (aiohttp.ClientError, OSError) as error:
            raise cut_off(error) from error
        self._waits_since = None
        return data

    def close(self) -> None:
        self._watch.cancel()
        self._response.close()

    def _give_up_if_silent(self) -> None:
        """Give up an upstream that is silent for too long. Time spent on a client that reads slowly does not count."""
        waited = 0.0 if self._waits_since is None else self._loop.time() - self._waits_since
        if waited < self._silence_seconds:
            self._watch = self._loop.call_later(self._silence_seconds - waited, self._give_up_if_silent)
        else:
            self._response.content.set_exception(TimeoutError())


async def open_raw(
    client: aiohttp.ClientSession, target: Target, body: bytes, client_headers: Mapping[str, str]
) -> RawAnswer:
    """Send `body` and wait for the answer's head; `client_headers` are those that the client meant for the provider.

    Raises UpstreamError if upstream refuses the request or cannot be reached.
    """
    headers = {"user-agent": "streamviz", **target.headers, **client_headers, "content-type": "application/json"}
    try:
        # Redirects are not followed: they would send the request to an address that no operator chose.
        response = await client.post(
            target.url, data=body, headers=headers, allow_redirects=False, proxy=proxy_for(target.url)
        )
        if not 200 <= response.status < 300:
            raise await _refusal(response, target.key)
    except FAILURES as error:
        raise no_answer(error, target.provider) from error
    silence_seconds = client.timeout.sock_read
    assert silence_seconds is not None  # as set by new_client
    return RawAnswer(response, silence_seconds, target.key)


def no_answer(error: Exception, provider: str) -> UpstreamError:
    """The client's error for one of FAILURES."""
    if isinstance(error, TimeoutError):
        return UpstreamError(504, f"{provider} did not answer in time")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return UpstreamError(502, f"{provider} could not be reached: its proxy answered {error.status}")
    happened = "answered in broken HTTP" if isinstance(error, aiohttp.ClientResponseError) else "could not be reached"
    return UpstreamError(502, f"{provider} {happened}: {_words(error)}")


def cut_off(error: Exception) -> UpstreamError:
    """The client's error if the same happens in the middle of an answer."""
    return UpstreamError(502, f"upstream cut off the response {HUNG_UP}: {_words(error)}", code=RESET)


async def _refusal(response: aiohttp.ClientResponse, key: str) -> UpstreamError:
    if response.status < 200:  # the connection is not HTTP's any more
        response.close()
        return unanswered(response.status)
    body = refusal_without(key, await _beginning(response))
    if response.status < 400:
        return unanswered(response.status)
    said = said_in(body)
    return UpstreamError(
        known_status(response.status),
        words_of_refusal(response.status, body, said)[:MOST_CHARACTERS],
        kind=as_text(as_object(said.get("error")).get("type")) or "upstream_error",
        headers=passed_on(response.headers, key),
        body=body,
    )


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """A refusal's body; empty if it is too long to mean anything, is cut off or cannot be unpacked."""
    body = b""
    with suppress(*FAILURES):
        while len(body) <= MOST_OF_A_REFUSAL:
            if not (piece := await response.content.readany()):
                return body
            body += piece
    response.close()
    return b""


def refusal_without(key: str, body: bytes) -> bytes:
    """A refusal without the call's credential, which it may quote, in JSON possibly with escapes."""
    text = without(key, body.decode("utf-8", "surrogateescape"))
    if "\\" in text:
        with suppress(ValueError):
            plain = encode(decode(text)).decode()
            text = without(key, plain) if key in plain else text
    return text.encode("utf-8", "surrogateescape")


def passed_on(headers: Mapping[str, str], key: str = "") -> dict[str, str]:
    """Upstream's headers that the client gets, with a content type that no browser renders and no charset but UTF-8.
    `key` is the credential of the call."""
    kept = told_headers(headers, key)
    told = kept.get("content-type", "")
    if not _KIND.fullmatch(told):
        known = _KIND.match(told)
        kept["content-type"] = known[1] if known else "application/json"
    return kept


def _words(error: Exception) -> str:
    """The error in one line, without the address, which is the operator's, and without what aiohttp quotes."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted ({_why_not_trusted(error.certificate_error)})"
    if isinstance(error, aiohttp.ClientSSLError):
        return "no connection by TLS"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"its proxy: {_why_unconnected(error.os_error)}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return _why_unconnected(error.os_error)
    said = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    return _QUOTES.split(_BEFORE.sub("", said), maxsplit=1)[0].rstrip(":") or type(error).__name__


def _why_not_trusted(error: Exception) -> str:
    """OpenSSL's words, without the host name that it may append."""
    said = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else "of another name"
    return said.partition(",")[0]


def _why_unconnected(error: OSError) -> str:
    """Only the system's words: Python appends the address, except for a name that was not found."""
    if isinstance(error, socket.gaierror):
        return error.strerror or "unknown host"
    return os.strerror(error.errno) if error.errno else "no connection"
