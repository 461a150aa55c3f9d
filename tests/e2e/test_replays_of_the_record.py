"""A recorded stream, requested with the vendors' SDKs as the model `replay/<id>`, under the policies in force."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from streamviz.records.models.access import digest
from tests.e2e.proxied import MESSAGES, Recorded, until
from tests.e2e.test_policies import Guarded
from tests.services import Streamviz

TIMES = "SELECT received_at FROM records_chunk WHERE stream_id = %s ORDER BY seq"
FIRST_TOOL = "SELECT name FROM records_block WHERE stream_id = %s ORDER BY ordinal LIMIT 1"
ANOTHER_KEY = "INSERT INTO records_apikey (name, prefix, digest, created_at) VALUES ('other', 'sv-other', %s, now())"
MODEL = "sim/tools?seed=5&speed=4"
SAID: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": MESSAGES},
    "/v1/messages": {"messages": MESSAGES, "max_tokens": 100},
    "/v1/responses": {"input": "Hello"},
}


@pytest.fixture(scope="module")
def proxied(shared_server: Streamviz) -> Iterator[Guarded]:
    with Guarded(shared_server) as found:
        yield found


@pytest.fixture(scope="module")
def originals(proxied: Guarded) -> dict[str, tuple[Recorded, bytes]]:
    """A stream of each format, and what its client got."""
    found = {}
    for path, said in SAID.items():
        answer = proxied.post({"model": MODEL, "stream": True, **said}, path, x_session_id=f"original {path}")
        found[path] = proxied.recorded(f"original {path}"), answer.body
    return found


@pytest.mark.parametrize("path", SAID)
def test_every_byte_comes_again_and_no_gap_is_shorter(
    proxied: Guarded, originals: dict[str, tuple[Recorded, bytes]], path: str
) -> None:
    original, body = originals[path]
    asked = {"model": f"replay/{original.id}", "stream": True, **SAID[path]}
    assert proxied.post(asked, path, x_session_id=f"again {path}").body == body
    again = proxied.recorded(f"again {path}")
    assert proxied.query("SELECT provider, cost FROM records_stream WHERE id = %s", again.id) == [("replay", None)]
    recorded, replayed = ([at for (at,) in proxied.query(TIMES, each.id)] for each in (original, again))
    assert len(replayed) == len(recorded)
    # Each chunk is sent at its own time, so a late one shortens the gap after it, but not the total.
    assert replayed[-1] - replayed[0] > 0.8 * (recorded[-1] - recorded[0])


def test_the_sdks_read_a_replay(proxied: Guarded, originals: dict[str, tuple[Recorded, bytes]]) -> None:
    names = {path: f"replay/{original.id}?speed=inf" for path, (original, _) in originals.items()}
    chat: Any = proxied.sdk.chat.completions
    with chat.stream(model=names["/v1/chat/completions"], messages=MESSAGES) as stream:
        calls = stream.get_final_completion().choices[0].message.tool_calls
    with proxied.sdk.responses.stream(model=names["/v1/responses"], input="Hello") as responses:
        items = [item for item in responses.get_final_response().output if item.type == "function_call"]
    sdk = anthropic.Anthropic(base_url=proxied.server.base_url, api_key=proxied.server.api_key)
    with sdk, sdk.messages.stream(model=names["/v1/messages"], messages=MESSAGES, max_tokens=100) as messages:
        used = [block for block in messages.get_final_message().content if block.type == "tool_use"]
    assert [call.function.name for call in calls] == [item.name for item in items] == [block.name for block in used]


def test_the_policies_in_force_judge_it_as_its_model(
    proxied: Guarded, originals: dict[str, tuple[Recorded, bytes]]
) -> None:
    original, _ = originals["/v1/chat/completions"]
    [(tool,)] = proxied.query(FIRST_TOOL, original.id)
    guard = proxied.add("tool_rule", {"names": [tool]}, models_scope="sim/tools*")
    asked = {"model": f"replay/{original.id}?speed=inf", "stream": True, "messages": MESSAGES}
    proxied.post(asked, x_session_id="judged")
    assert (guard, 1, "enforce", "deny", 0) in proxied.verdicts(proxied.recorded("judged"))
    proxied.remove()


def test_another_key_cannot_replay_a_stream(proxied: Guarded, originals: dict[str, tuple[Recorded, bytes]]) -> None:
    original, _ = originals["/v1/chat/completions"]
    proxied.query(ANOTHER_KEY, digest("sv-other"))
    asked = {"model": f"replay/{original.id}", "stream": True, "messages": MESSAGES}
    sent = {"authorization": "Bearer sv-other"}
    until(lambda: proxied.http.get("/v1/models", headers=sent).status_code == 200)
    answer = proxied.http.post("/v1/chat/completions", json=asked, headers=sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")
