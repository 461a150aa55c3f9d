"""A provider that plays an agent's model in all formats: it thinks, calls the client's tools, then answers.

`python -m tests.clients.provider PORT` serves OpenAI's chat completions, responses and embeddings, Anthropic's messages
and Google's generateContent. It tells the progress of a conversation only from the results in the request, so any
number of agents can run at the same time. The base URL may select a scenario: `/<scenario>/<run>`. Each request is
printed as a line of JSON.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from types import ModuleType

from aiohttp import web

from tests.clients.formats import chat, gemini, messages, responses
from tests.clients.script import ANSWER, ONE_BY_ONE, SIDE_BY_SIDE, STEPS, THOUGHT, Object, Turn, halves, turn_of

__all__ = ["ANSWER", "STEPS", "THOUGHT"]

FORMATS = {"/chat/completions": chat, "/messages": messages, "/responses": responses}
# The status of each scenario that is an error; `limited` fails only the first request of a run.
ERRORS = {"busy": 429, "limited": 429, "refused": 400, "broken": 500}
RETRY_AFTER = {"retry-after": "1"}
PAUSE_SECONDS = 0.02
# How many pieces an answer has before it breaks off.
BROKEN_AFTER = 3

_asked: Counter[str] = Counter()
_broken: set[str] = set()


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer any call, in the scenario that its base URL names."""
    body = await request.json()
    print(json.dumps({"path": request.path, "headers": dict(request.headers), "body": body}), flush=True)
    scenario, path = request.match_info.get("scenario", ""), request.path
    known = gemini if "/models/" in path else next(each for end, each in FORMATS.items() if path.endswith(end))
    run = path.rpartition("/v1")[0]
    _asked[run] += 1
    if scenario in ERRORS and not (scenario == "limited" and _asked[run] > 1):
        status = ERRORS[scenario]
        return web.json_response(known.error(status), status=status, headers=RETRY_AFTER if status == 429 else {})
    plan = SIDE_BY_SIDE if scenario else ONE_BY_ONE
    turn = turn_of(known.asked(body), plan, is_endless=scenario == "slow")
    if not (body.get("stream") or ":stream" in path):
        return web.json_response(known.whole(body, turn))
    pieces = _pieces(known, body, turn, scenario)
    if scenario in ("dropped", "ended") and known.asked(body).tools and run not in _broken:  # a title does not count
        _broken.add(run)
        return await _break_off(request, pieces, drops=scenario == "dropped")
    return await _stream(request, pieces, slow=scenario == "slow")


def _pieces(known: ModuleType, body: Object, turn: Turn, scenario: str) -> Iterator[bytes]:
    """The events of a turn; in the scenario `cut`, an error instead of the second half of the text."""
    for piece in known.stream(body, turn):
        yield piece
        if scenario == "cut" and halves(ANSWER)[0].encode() in piece:
            yield known.broken_off()
            return


async def _break_off(request: web.Request, pieces: Iterator[bytes], *, drops: bool) -> web.StreamResponse:
    """End an answer in its middle, as if that was all, or drop the connection there."""
    response = await _stream(request, islice(pieces, BROKEN_AFTER), slow=False)
    if drops and request.transport:
        request.transport.abort()
    return response


async def _stream(request: web.Request, pieces: Iterator[bytes], *, slow: bool) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece)
        if slow:
            await asyncio.sleep(PAUSE_SECONDS)
    return response


async def count(request: web.Request) -> web.Response:
    """The number of tokens of a request."""
    is_gemini = request.path.endswith(":countTokens")
    return web.json_response({"totalTokens": 1000} if is_gemini else {"input_tokens": 1000})


async def embed(request: web.Request) -> web.Response:
    """Two numbers for each text."""
    body = await request.json()
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    data = [{"object": "embedding", "index": index, "embedding": [0.25, -0.5]} for index in range(len(texts))]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return web.json_response({"object": "list", "data": data, "model": body["model"], "usage": usage})


def application() -> web.Application:
    """All paths, with and without a scenario prefix."""
    made = web.Application(client_max_size=2**26)
    for before in ("", "/{scenario}/{run}"):
        made.add_routes([web.post(f"{before}/v1{path}", answer) for path in FORMATS])
        made.add_routes(
            [
                web.post(f"{before}/v1beta/models/{{model}}:countTokens", count),
                web.post(f"{before}/v1beta/models/{{model}}", answer),
                web.post(f"{before}/v1/messages/count_tokens", count),
                web.post(f"{before}/v1/embeddings", embed),
            ]
        )
    return made


if __name__ == "__main__":
    web.run_app(application(), host="127.0.0.1", port=int(sys.argv[1]), print=None)
