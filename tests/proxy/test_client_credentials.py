"""Where a client's own credential goes: only to the provider that it called, whatever policies change."""

from typing import Any

import pytest
from django.conf import settings

from streamviz.core.request import ModelCall
from streamviz.core.wire import WIRE_FORMATS
from streamviz.proxy.beginning import target_of
from streamviz.proxy.requests import read_request
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey, KnownRoute

MESSAGES = WIRE_FORMATS["anthropic_messages"]
SCOPE: Any = {"type": "http", "path": MESSAGES.path, "query_string": b"", "headers": [(b"x-api-key", b"sk-own")]}
ROUTES = {
    "first": KnownRoute("anthropic/claude-a", "", ""),
    "same": KnownRoute("anthropic/claude-b", "", ""),
    "elsewhere": KnownRoute("anthropic/claude-b", "http://127.0.0.1:9", ""),
    "other": KnownRoute("openai/gpt-5", "", ""),
}


@pytest.mark.parametrize(("model", "key"), [("same", "sk-own"), ("elsewhere", ""), ("other", "sk-servers")])
async def test_where_a_policy_names_another_model_it_goes_to_its_own_provider_alone(
    monkeypatch: pytest.MonkeyPatch, model: str, key: str
) -> None:
    monkeypatch.setattr(settings, "CLIENT_CREDENTIALS", True)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-servers")
    worker, known = Worker(), KnownKey(1, "a-key")
    worker.configuration.routes.update(ROUTES)
    asked = read_request(b'{"model": "first", "messages": [], "max_tokens": 9}', MESSAGES)
    found = await target_of(worker, MESSAGES, SCOPE, known, asked)
    assert found.key == "sk-own"
    changed = asked.replaced_by(ModelCall(MESSAGES.name, {**asked.fields, "model": model}))
    assert (await target_of(worker, MESSAGES, SCOPE, known, changed, found)).key == key
