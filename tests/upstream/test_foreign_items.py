"""What another vendor's model has answered, as OpenAI takes it back when a client goes on with a model of OpenAI's."""

import json
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import aiohttp
import pytest

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import as_list
from streamviz.core.wire import OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.proxy.answers import open_answer
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.worker import Worker
from streamviz.upstream.foreign_items import THINKING, for_openai
from streamviz.upstream.targets import Lane, Target

URL = "https://api.openai.com/v1/responses"
ASKED: dict[str, Any] = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Mend it"}]}
CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc_msg1_1",
    "call_id": "toolu_1",
    "name": "ls",
    "arguments": "{}",
}
GOT: dict[str, Any] = {"type": "function_call_output", "call_id": "toolu_1", "output": "a"}
SUMMARY = [{"type": "summary_text", "text": "I look."}]
OWN: dict[str, Any] = {"type": "reasoning", "id": "rs_68af4030baa481", "summary": SUMMARY, "encrypted_content": "gAAA"}
COMPACTED = {"type": "compaction", "encrypted_content": json.dumps({"type": "compaction", "content": "It is late."})}


def thought(sealed: str | None, id: str = "rs_msg1_0") -> dict[str, Any]:
    return {"type": "reasoning", "id": id, "summary": SUMMARY, "content": None, "encrypted_content": sealed}


def fitted(*items: Any, url: str = URL, format: str = OPENAI_RESPONSES.name) -> tuple[list[Any], tuple[str, ...]]:
    target = Target("gpt-5", "openai", format, Lane.RAW, url)
    fields, left_out = for_openai(target, {"model": "gpt-5", "store": False, "input": list(items)})
    return as_list(fields["input"]), left_out


@pytest.mark.parametrize("sealed", ["sv-thinking:c2ln", "sv-redacted_thinking:YQ==", None, ""])
@pytest.mark.parametrize("url", [URL, "https://mine.openai.azure.com/openai/v1/responses"])
def test_the_thinking_of_another_vendors_model_is_left_out(sealed: str | None, url: str) -> None:
    assert fitted(ASKED, thought(sealed), CALL, GOT, OWN, url=url) == ([ASKED, CALL, GOT, OWN], (THINKING,))


def test_a_summary_of_another_vendors_model_is_told_in_words() -> None:
    [summary, asked], left_out = fitted(COMPACTED, ASKED)
    assert summary["role"] == "user"
    assert summary["content"][0]["text"].endswith("It is late.")
    assert (asked, left_out) == (ASKED, ())


@pytest.mark.parametrize(
    ("item", "how"),
    [
        (OWN, {}),
        ({"type": "compaction", "encrypted_content": "gAAA"}, {}),
        ({**OWN, "encrypted_content": None}, {}),
        (thought("sv-thinking:c2ln"), {"url": "http://127.0.0.1:8000/v1/responses"}),
        (thought("sv-thinking:c2ln"), {"format": OPENAI_CHAT.name}),
    ],
    ids=["its own thinking", "its own compaction", "one that it keeps", "at another address", "in another format"],
)
def test_all_else_is_the_same(item: dict[str, Any], how: dict[str, str]) -> None:
    assert fitted(ASKED, item, **how) == ([ASKED, item], ())


def test_a_request_in_which_nothing_is_foreign_is_not_made_anew() -> None:
    fields: dict[str, Any] = {"model": "gpt-5", "input": [ASKED, OWN]}
    assert for_openai(Target("gpt-5", "openai", OPENAI_RESPONSES.name, Lane.RAW, URL), fields)[0] is fields


class Away:
    """A client whose provider cannot be reached; `sent` is what it would have been sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def post(self, _: str, *, data: bytes, **__: object) -> NoReturn:
        self.sent.append(json.loads(data))
        raise aiohttp.ClientConnectionError


async def test_it_is_left_out_of_what_is_sent() -> None:
    away = Away()
    fields: dict[str, Any] = {
        "model": "gpt-5",
        "stream": True,
        "input": [ASKED, thought("sv-thinking:c2ln"), CALL, GOT],
    }
    request = ModelRequest(json.dumps(fields).encode(), fields, "gpt-5", is_streaming=True)
    target = Target("gpt-5", "openai", OPENAI_RESPONSES.name, Lane.RAW, URL)
    with pytest.raises(UpstreamError):
        await open_answer(cast(Worker, SimpleNamespace(client=away)), request, target, {})
    assert away.sent == [{**fields, "input": [ASKED, CALL, GOT]}]
