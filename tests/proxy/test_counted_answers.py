"""A provider that refuses to be asked for the token counts of its stream."""

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import encode
from streamviz.proxy.answers import open_counted
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.worker import Worker
from streamviz.upstream.targets import RoutePlan, resolve
from tests.exchange.support import Play

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


async def test_what_it_says_without_the_question_is_told(worker: Worker) -> None:
    asked: list[bool] = []

    async def refuse(request: web.BaseRequest) -> web.Response:
        asked.append("stream_options" in await request.json())
        why = "Unrecognized request argument: stream_options" if asked[-1] else "Quota exceeded."
        return web.json_response({"error": {"message": why}}, status=400 if asked[-1] else 429)

    fields = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True, "frequency_penalty": 1}
    request = ModelRequest(encode(fields), fields, "m", is_streaming=True)
    async with RawTestServer(refuse) as provider:
        target = resolve("m", "openai_chat", RoutePlan("minimax/m", str(provider.make_url("/v1")), key="test"))
        with pytest.raises(UpstreamError) as refused:
            await open_counted(worker, Play().stream, request, target, {})
    assert asked == [True, False]
    assert (refused.value.status, refused.value.message) == (429, "Quota exceeded.")
