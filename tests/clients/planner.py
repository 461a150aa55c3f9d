"""A provider whose model makes plans: `python -m tests.clients.planner PORT FOLDER` serves OpenAI's chat completions.

For a base URL of `/<name>/v1` it takes the steps in `FOLDER/<name>.json`, one per request; then it answers.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from aiohttp import web

from tests.clients.formats.chat import USAGE
from tests.clients.script import ANSWER, Object, event, halves


async def answer(request: web.Request) -> web.StreamResponse:
    """The next step if the request asks for a plan, else the answer."""
    body = await request.json()
    steps = json.loads((Path(sys.argv[2]) / f"{request.match_info['name']}.json").read_text())
    taken = sum(message["role"] == "assistant" for message in body["messages"])
    text = json.dumps(steps[taken]) if "response_format" in body and taken < len(steps) else ANSWER
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for piece in _stream(body, text):
        await response.write(piece)
    return response


def _stream(body: Object, text: str) -> Iterator[bytes]:
    head = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    for piece in halves(text):
        delta = {"role": "assistant", "content": piece}
        yield event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    yield event({**head, "choices": [], "usage": USAGE})
    yield b"data: [DONE]\n\n"


if __name__ == "__main__":
    made = web.Application(client_max_size=2**26)
    made.add_routes([web.post("/{name}/v1/chat/completions", answer)])
    web.run_app(made, host="127.0.0.1", port=int(sys.argv[1]), print=None)
