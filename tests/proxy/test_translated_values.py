"""A request to be translated may have fewer JSON values than others, as LiteLLM goes through each many times."""

import json
from typing import Any, cast

import pytest
from django.conf import settings

from streamviz.core.errors import RequestError
from streamviz.core.wire import ANTHROPIC_MESSAGES, WIRE_FORMATS
from streamviz.proxy.beginning import target_of
from streamviz.proxy.requests import ModelRequest, read_request
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey, KnownRoute

MOST = settings.ANSWER_BOUNDS.values // 4


def asked(values: int) -> ModelRequest:
    said = {"role": "user", "content": [{"type": "text"}] * (values // 2)}
    return read_request(json.dumps({"model": "m", "max_tokens": 1, "messages": [said]}).encode(), ANTHROPIC_MESSAGES)


@pytest.mark.parametrize(("provider", "values", "is_refused"), [
    ("openai", MOST, True), ("openai", MOST // 2, False), ("anthropic", MOST, False),
])  # fmt: skip
async def test_more_values_than_are_translated_are_refused(provider: str, values: int, is_refused: bool) -> None:
    worker = Worker()
    worker.configuration.routes["m"] = KnownRoute(f"{provider}/x", "http://127.0.0.1:1", "")
    finding = target_of(worker, ANTHROPIC_MESSAGES, cast(Any, {"headers": []}), KnownKey(1, "a-key"), asked(values))
    if not is_refused:
        assert (await finding).provider == provider
        return
    with pytest.raises(RequestError, match=f"more than {MOST} JSON values") as refused:
        await finding
    status, _, body = WIRE_FORMATS["anthropic_messages"].error_answer(refused.value)
    assert (status, json.loads(body)["type"]) == (413, "error")
