"""Answers requests that a model would answer: reads the request, writes the script, sends it."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from aiohttp import web

from streamviz.simulator.asked import Asked, AskedReplay
from streamviz.simulator.endpoints import Endpoint
from streamviz.simulator.errors import ProviderError
from streamviz.simulator.ledger import Exchange, Ledger
from streamviz.simulator.model_name import parse_model
from streamviz.simulator.replay import recording, replay_frames
from streamviz.simulator.reply import GARBAGE, Frame, JsonObject, Reply, encode
from streamviz.simulator.request import answers_in, input_tokens, read_request, seed_of
from streamviz.simulator.scenarios import write_script
from streamviz.simulator.sending import MOST_JOINED, Sender
from streamviz.simulator.shapes import shape_of
from streamviz.simulator.steps import ConnectionCut, Cut, Fail, Garbage, Script

EVENT_STREAM = "text/event-stream; charset=utf-8"
JSON = "application/json"
# Writing a longer script takes long enough for other streams to notice.
LONG_CHUNKS = 2_000


class Provider:
    """The simulated provider. `speed` applies if the model name gives none."""

    def __init__(self, speed: float, replay_dir: Path | None) -> None:
        self.ledger = Ledger()
        self._speed = speed
        self._replay_dir = replay_dir
        self.floods = asyncio.Lock()
        self._writing = ThreadPoolExecutor(1)

    async def serve(
        self, endpoint: Endpoint, request: web.Request, answer: Callable[["Talk"], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Have one of the methods below `answer` a request, or refuse it in the endpoint's shape."""
        body = await request.read()
        with self.ledger.exchange(request.method, request.path, request.headers, body) as exchange:
            talk = Talk(endpoint, request, body, self, exchange)
            try:
                return await answer(talk)
            except ProviderError as error:
                return await talk.refuse(error)

    async def answer(self, talk: "Talk") -> web.StreamResponse:
        """Answer a request for a message, streaming or not."""
        return await self._answer(talk, read_request(talk.body, talk.endpoint.needs))

    async def answer_method(self, talk: "Talk") -> web.StreamResponse:
        """Answer a request whose path names the model and the method, as Google's does."""
        model, method = (talk.request.match_info[name] for name in ("model", "method"))
        asked: JsonObject = {"model": model, "stream": method == "streamGenerateContent"}
        if method == "countTokens":
            return await talk.send_json({"totalTokens": input_tokens(read_request(talk.body, "", asked))})
        return await self._answer(talk, read_request(talk.body, talk.endpoint.needs, asked))

    async def embed(self, talk: "Talk") -> web.StreamResponse:
        """OpenAI's embeddings of the texts in `input`: numbers derived from each text."""
        return await talk.send_json(_embedded(read_request(talk.body, "input")))

    async def count_tokens(self, talk: "Talk") -> web.StreamResponse:
        """Anthropic's count of a prompt's tokens."""
        return await talk.send_json({"input_tokens": input_tokens(read_request(talk.body, talk.endpoint.needs))})

    async def _answer(self, talk: "Talk", request: JsonObject) -> web.StreamResponse:
        model = str(request["model"])
        asked = parse_model(model)
        streaming = request.get("stream") is True
        if isinstance(asked, AskedReplay):
            return await self._replay(talk, asked, streaming=streaming)
        seed = seed_of(request) if asked.seed is None else asked.seed
        # With a seed in its name, a model answers in the same bytes whatever the prompt, including the token count.
        prompt_tokens = input_tokens(request) if asked.seed is None else 20 + seed % 400
        reply = Reply(await self._script(asked, seed, prompt_tokens, request), model, seed, request)
        if streaming:
            return await talk.send(200, EVENT_STREAM, talk.endpoint.frames(reply))
        return await talk.send_whole(reply)

    async def _script(self, asked: Asked, seed: int, prompt_tokens: int, request: JsonObject) -> Script:
        given = (asked, seed, prompt_tokens, self._speed, answers_in(request))
        write = partial(write_script, *given, shape=shape_of(request))
        if (asked.chunks or 0) <= LONG_CHUNKS:
            return write()
        return await asyncio.get_running_loop().run_in_executor(self._writing, write)

    async def _replay(self, talk: "Talk", asked: AskedReplay, *, streaming: bool) -> web.StreamResponse:
        data = recording(self._replay_dir, talk.endpoint.wire_format, asked)
        if not streaming:
            raise ProviderError.bad_request("A recorded stream can only be had with `stream: true`.", "stream")
        return await talk.send(200, EVENT_STREAM, replay_frames(data, asked), most_joined=1)


class Talk:
    """One request and the ways to answer it."""

    def __init__(
        self, endpoint: Endpoint, request: web.Request, body: bytes, provider: Provider, exchange: Exchange
    ) -> None:
        self.endpoint = endpoint
        self.request = request
        self.body = body
        self._provider = provider
        self._exchange = exchange
        self._request_id = "req_" + hashlib.sha256(body).hexdigest()[:24]

    async def send(
        self,
        status: int,
        content_type: str,
        frames: Iterable[Frame],
        *,
        most_joined: int = MOST_JOINED,
        headers: dict[str, str] | None = None,
    ) -> web.StreamResponse:
        """Send a response whose body is these frames."""
        head = {
            "Content-Type": content_type,
            "x-simulator-request": self._exchange.id,
            self.endpoint.request_id_header: self._request_id,
        }
        response = web.StreamResponse(status=status, headers=head | (headers or {}))
        ledger, floods = self._provider.ledger, self._provider.floods
        await Sender(self.request, response, ledger, self._exchange, floods).send(frames, most_joined)
        return response

    async def send_json(
        self, value: JsonObject, status: int = 200, headers: dict[str, str] | None = None
    ) -> web.StreamResponse:
        """Send a JSON object, at once."""
        return await self.send(status, JSON, [(0.0, encode(value))], headers=headers)

    async def refuse(self, error: ProviderError) -> web.StreamResponse:
        """Send an error in the endpoint's shape."""
        headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
        return await self.send_json(self.endpoint.error_body(error, self._request_id), error.status, headers)

    async def send_whole(self, reply: Reply) -> web.StreamResponse:
        """Send the answer as one message, after all the time that it takes. Raises ProviderError if it fails."""
        delay = sum(step.delay for step in reply.script.steps)
        failure = next((step for step in reply.script.steps if isinstance(step, Fail)), None)
        if failure is not None:
            await asyncio.sleep(delay)
            raise ProviderError(500, "server", failure.message)
        return await self.send(200, JSON, _whole_frames(self.endpoint, reply, delay))


def _whole_frames(endpoint: Endpoint, reply: Reply, delay: float) -> Iterator[Frame]:
    kinds = {type(step) for step in reply.script.steps}
    body = GARBAGE if Garbage in kinds else encode(endpoint.whole(reply))
    if Cut in kinds:
        yield delay, body[: len(body) // 2]
        raise ConnectionCut
    yield delay, body


def _embedded(asked: JsonObject) -> JsonObject:
    said = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
    numbers = [[each / 255 for each in hashlib.sha256(encode(text)).digest()] for text in said]
    data = [{"object": "embedding", "index": at, "embedding": found} for at, found in enumerate(numbers)]
    tokens = input_tokens(asked)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": asked["model"], "usage": usage}
