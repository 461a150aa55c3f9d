"""Policies over real HTTP: judges that take their time, people who decide, and the record of both."""

import asyncio
import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai.errors import APIError as GoogleError
from google.genai.types import HttpOptions

from tests.e2e.proxied import MESSAGES, Proxied, files_with, until
from tests.services import Streamviz

FIELDS: dict[str, Any] = {
    "models_scope": "", "keys_scope": "", "kinds_scope": "", "tools_scope": "", "fail_open": False, "time_limit": 30,
    "by_hand": "", "by_hand_seconds": 120, "order": 100,
}  # fmt: skip
CALL = "sim/dangerous?speed=inf"


class Guarded(Proxied):
    """A streamviz on which these tests create policies and switch them off again."""

    def add(self, kind: str, parameters: dict[str, Any], mode: str = "enforce", **fields: Any) -> str:
        """Create a policy, by default for all models, and wait until it is in force."""
        name = f"rule-{uuid.uuid4().hex[:8]}"
        columns = {**FIELDS, **fields, "kind": kind, "mode": mode, "parameters": json.dumps(parameters)}
        names, places = ", ".join(f'"{column}"' for column in columns), ", ".join(["%s"] * len(columns))
        self.query(
            f"WITH made AS (INSERT INTO records_policy (name, version, {names}) VALUES (%s, 1, {places}) RETURNING *)"
            f" INSERT INTO records_policyversion (policy_id, number, changed_at, reason, {names})"
            f" SELECT id, 1, now(), '', {names} FROM made",
            name, *columns.values(),
        )  # fmt: skip
        until(lambda: name in self.in_force())
        return name

    def remove(self) -> None:
        """Switch all policies off."""
        self.query("UPDATE records_policyversion SET mode = 'off' WHERE mode <> 'off'")
        self.query("UPDATE records_policy SET mode = 'off' WHERE mode <> 'off'")
        until(lambda: not self.in_force())

    def in_force(self) -> set[str]:
        """The policies that apply to a request made now, or would except for their scope."""
        label = uuid.uuid4().hex
        self.ask("content?chunks=1&speed=inf", label)
        stream = self.recorded(label)
        [(not_run,)] = self.query("SELECT not_run FROM records_stream WHERE id = %s", stream.id)
        return {row[0] for row in self.verdicts(stream)} | {each["policy"] for each in not_run}


@pytest.fixture(scope="module")
def server(shared_server: Streamviz) -> Iterator[Guarded]:
    with Guarded(shared_server) as found:
        yield found


@pytest.fixture
def guarded(server: Guarded) -> Iterator[Guarded]:
    yield server
    server.remove()


@pytest.fixture
def session() -> str:
    return uuid.uuid4().hex


def judging(score: float, seconds: float = 0, **more: Any) -> dict[str, Any]:
    model = f"sim/judge?speed=inf&score={score}&seconds={seconds}"
    return {"model": model, "instructions": "It destroys data.", **more}


# The scope of these policies. The judge's own calls go straight to a provider, and no policy judges them.
SCOPE = {"models_scope": "sim/dangerous*"}
# What clients get every five seconds while a policy keeps them waiting.
KEEP_ALIVES = {
    "/v1/chat/completions": b": keep-alive\n\n",
    "/v1/messages": b'event: ping\ndata: {"type":"ping"}\n\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("score", [0.1, 0.9])
@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
def test_a_judges_score_decides_on_a_call(guarded: Guarded, session: str, score: float, stream: bool) -> None:
    name = guarded.add("llm_judge", judging(score), **SCOPE)
    answer = guarded.ask("dangerous?speed=inf", session, stream=stream)
    assert (b"run_shell" in answer.body) is (score < 0.5)
    kept = guarded.recorded(session)
    assert guarded.client_tape(kept) == answer.body
    [verdict] = guarded.verdicts(kept)
    assert verdict[0] == name
    assert verdict[3] == ("deny" if score > 0.5 else "allow")
    [(evidence, reason)] = guarded.query("SELECT evidence, reason FROM records_verdict WHERE stream_id = %s", kept.id)
    assert evidence["score"] == score
    assert reason.startswith(f"Score {score}")
    if score < 0.5:
        assert answer.body == guarded.sent_upstream(answer)


@pytest.mark.slow
def test_a_judge_of_25_seconds_keeps_every_client_alive(guarded: Guarded, session: str) -> None:
    guarded.add("llm_judge", judging(0.9, 25, text="[no]"), time_limit=60, **SCOPE)
    body = {"model": CALL, "messages": MESSAGES, "stream": True, "max_tokens": 100}
    claude = anthropic.Anthropic(base_url=guarded.server.base_url, api_key=guarded.server.api_key, max_retries=0)

    def answer(path: str) -> bytes:
        with guarded.posting(body, path, x_session_id=session) as response:
            return response.read()

    def by_openai() -> str:
        with guarded.sdk.chat.completions.stream(model=CALL, messages=MESSAGES) as stream:
            return stream.get_final_completion().choices[0].message.content or ""

    def by_anthropic() -> str:
        with claude.messages.stream(model=CALL, messages=MESSAGES, max_tokens=100) as stream:
            return "".join(block.text for block in stream.get_final_message().content if block.type == "text")

    with ThreadPoolExecutor(4) as threads, claude:
        raw = {alive: threads.submit(answer, path) for path, alive in KEEP_ALIVES.items()}
        for said in [threads.submit(by_openai), threads.submit(by_anthropic)]:
            assert said.result().endswith("[no]")
    for alive, reading in raw.items():
        waited, _, behind = reading.result().rpartition(alive)
        assert waited.count(alive) >= 2  # one each five seconds, or a few less on a busy machine
        assert b"[no]" in behind


@pytest.mark.slow
def test_a_whole_answer_is_kept_alive_too(guarded: Guarded, session: str) -> None:
    guarded.add("llm_judge", judging(0.1, 6), **SCOPE)
    answer = guarded.ask("dangerous?speed=inf", session, stream=False)
    assert answer.body.startswith(b" ")
    assert answer.body.strip() == guarded.sent_upstream(answer)
    assert json.loads(answer.body)["choices"][0]["message"]["tool_calls"]


@pytest.mark.parametrize("fail_open", [False, True])
@pytest.mark.parametrize("trouble", ["late", "refused", "nonsense"])
def test_a_judge_that_fails_does_as_its_fail_mode_says(
    guarded: Guarded, session: str, trouble: str, fail_open: bool
) -> None:
    models = {"late": "sim/slow?seconds=60", "refused": "sim/error-500", "nonsense": "sim/content?chunks=2&speed=inf"}
    parameters = judging(0) | {"model": models[trouble]}
    guarded.add("llm_judge", parameters, time_limit=0.5, fail_open=fail_open, **SCOPE)
    answer = guarded.ask("dangerous?speed=inf", session)
    assert (b"run_shell" in answer.body) is fail_open
    kept = guarded.recorded(session)
    [(decision, failure)] = guarded.query("SELECT decision, failure FROM records_verdict WHERE stream_id = %s", kept.id)
    assert decision == ("allow" if fail_open else "deny")
    assert {"late": "no answer within 0.5 s", "refused": "could not be asked", "nonsense": "score"}[trouble] in failure


def test_a_shadow_judges_verdict_is_kept_though_the_client_is_gone(guarded: Guarded, session: str) -> None:
    guarded.add("llm_judge", judging(0.9, 2), mode="shadow", **SCOPE)
    answer = guarded.ask("dangerous?speed=inf", session)
    assert answer.body == guarded.sent_upstream(answer)
    kept = guarded.recorded(session)
    assert kept.outcome == "completed"
    assert [row[2:4] for row in guarded.verdicts(kept)] == [("shadow", "deny")]


def test_a_request_that_is_denied_never_goes_upstream(guarded: Guarded, session: str) -> None:
    name = guarded.add("request_rule", {"patterns": [{"pattern": "Hello"}]}, **SCOPE)
    answer = guarded.ask("dangerous?speed=inf", session)
    assert answer.status == 403
    assert "x-simulator-request" not in answer.headers
    assert answer.error == {
        "message": f"The request was denied by policy {name}.", "type": "permission_error", "param": None,
        "code": "denied_by_policy",
    }  # fmt: skip
    kept = guarded.recorded(session)
    assert (kept.outcome, kept.status, kept.chunk_count) == ("halted", 403, 0)
    query = "SELECT subject, ordinal, decision FROM records_verdict WHERE stream_id = %s"
    assert guarded.query(query, kept.id) == [("request", None, "deny")]


def test_a_request_is_changed_before_it_goes_upstream_and_recorded_so(guarded: Guarded, session: str) -> None:
    guarded.add("request_rule", {"set": {"model": "sim/content?speed=inf", "seed": 1}, "drop": ["user"]}, **SCOPE)
    guarded.add("redact", {}, order=200, **SCOPE)
    said: Any = [{"role": "user", "content": "My key is AKIAIOSFODNN7EXAMPLE."}]
    body = {"model": CALL, "messages": said, "stream": True, "user": "u", "temperature": 0.25}
    answer = guarded.post(body, x_session_id=session)
    asked = guarded.asked_upstream(answer.headers)
    assert asked == {
        "model": "content?speed=inf", "messages": [{"role": "user", "content": "My key is [api key removed]."}],
        "stream": True, "temperature": 0.25, "seed": 1,
    }  # fmt: skip
    kept = guarded.recorded(session)
    found = (
        "SELECT upstream_model, position('AKIA'::bytea in request), s::text LIKE %s FROM records_stream s WHERE id = %s"
    )
    assert guarded.query(found, "%AKIAIOSFODNN7%", kept.id) == [("content?speed=inf", 0, False)]


@pytest.mark.slow
def test_a_judge_of_the_request_keeps_the_client_alive_and_may_deny_it_late(guarded: Guarded, session: str) -> None:
    guarded.add("llm_judge", judging(0.9, 7, on=["request"]), **SCOPE)
    answer = guarded.ask("dangerous?speed=inf", session)
    assert answer.status == 200
    assert answer.body.startswith(b": keep-alive\n\n")
    assert answer.body.count(b": keep-alive\n\n") < 5, "one each 5 s"
    assert b"denied_by_policy" in answer.body
    assert "x-simulator-request" not in answer.headers
    assert guarded.recorded(session).outcome == "halted"


def test_a_halt_ends_the_stream_and_the_call_upstream(guarded: Guarded, session: str) -> None:
    guarded.add("text_rule", {"patterns": ["."], "action": "halt", "text": "[stop]"}, models_scope="sim/big*")
    answer = guarded.ask("big?pace=20", session)
    assert answer.body.endswith(b"data: [DONE]\n\n")
    assert b"[stop]" in answer.body
    assert guarded.simulator.get_json(f"/_ended/{answer.headers['x-simulator-request']}")["closed_early"] is True
    kept = guarded.recorded(session)
    assert (kept.outcome, kept.error) == ("halted", "")


def test_where_a_policy_did_not_run_the_stream_says_so(guarded: Guarded, session: str) -> None:
    outside = guarded.add("tool_rule", {}, models_scope="other/*")
    guarded.ask("dangerous?speed=inf", session)
    kept = guarded.recorded(session)
    assert guarded.query("SELECT not_run FROM records_stream WHERE id = %s", kept.id) == [
        ([{"policy": outside, "version": 1, "mode": "enforce", "why": "the model is outside its scope"}],)
    ]


SECRET, CONTROL = "AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7CONTROL"
SAYS: Any = [{"role": "user", "content": f"My key is {SECRET}."}]


def stored(guarded: Guarded, secret: str) -> list[str]:
    """Where a secret is stored: in the record's tables or the journal's files."""
    found = []
    for (table,) in guarded.query("SELECT tablename FROM pg_tables WHERE tablename LIKE 'records_%%'"):
        [(count,)] = guarded.query(
            f"SELECT count(*) FROM {table} row WHERE row::text ~* %s", f"{secret}|{secret.encode().hex()}"
        )
        found += [table] if count else []
    return found + files_with(Path(guarded.server.environment["VAR_DIR"]), secret)


@pytest.mark.parametrize(
    "before", [[], [("llm_judge", judging(0.1, 1, on=["request"]))]], ids=["alone", "behind a judge"]
)
def test_what_is_masked_in_a_request_is_kept_nowhere(guarded: Guarded, before: list[tuple[str, Any]]) -> None:
    for kind, parameters in before:
        guarded.add(kind, parameters, order=10, **SCOPE)
    name = guarded.add("redact", {}, order=200, **SCOPE)
    answer = guarded.post({"model": CALL, "messages": SAYS, "stream": True})
    assert answer.status == 200
    kept = until(lambda: guarded.query(
        "SELECT s.id, label, convert_from(request, 'UTF8') FROM records_stream s JOIN records_session n"
        " ON n.id = session_id JOIN records_verdict v ON v.stream_id = s.id JOIN records_policyversion p"
        " ON p.id = policy_version_id JOIN records_policy r ON r.id = p.policy_id"
        " WHERE r.name = %s AND outcome <> '' AND decision = 'replace'", name))  # fmt: skip
    [(_, label, request)] = kept
    assert label == "My key is [api key removed]."
    assert json.loads(request)["messages"][0]["content"] == "My key is [api key removed]."
    assert stored(guarded, SECRET) == []
    assert SECRET not in guarded.server.output()
    # If no policy masks a text, it is found.
    guarded.post({"model": "sim/content?speed=inf", "messages": [{"role": "user", "content": CONTROL}]})
    until(lambda: "records_stream" in stored(guarded, CONTROL))


def test_what_is_masked_beside_the_messages_is_kept_nowhere_either(guarded: Guarded, session: str) -> None:
    hidden = "AKIAIOSFODNN7BESIDES"
    guarded.add("redact", {}, order=200, **SCOPE)
    tools = [{"type": "function", "function": {"name": "f", "description": f"It takes {hidden}."}}]
    body = {"model": CALL, "messages": MESSAGES, "tools": tools, "metadata": {"key": hidden}, "user": hidden}
    headers = {"user_agent": f"agent/1 {hidden}", "openai_beta": f"assistants={hidden}", "anthropic_beta": "plain"}
    answer = guarded.post({**body, hidden: 1}, x_session_id=f"{session} of {hidden}", **headers)
    assert answer.status == 200
    [asked] = guarded.requests_upstream(answer.headers)
    assert hidden not in json.dumps(asked)
    assert asked["headers"]["openai-beta"] == "assistants=[api key removed]"
    assert asked["headers"]["anthropic-beta"] == "plain"
    kept = guarded.recorded(f"{session} of [api key removed]")
    [(agent, told)] = guarded.query("SELECT user_agent, request_headers FROM records_stream WHERE id = %s", kept.id)
    assert agent == "agent/1 [api key removed]"
    assert told["openai-beta"] == "assistants=[api key removed]"
    assert told["anthropic-beta"] == "plain"
    assert "authorization" not in told
    assert stored(guarded, hidden) == []


@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
def test_what_is_masked_in_an_answer_is_kept_nowhere(guarded: Guarded, session: str, path: str, stream: bool) -> None:
    model = f"sim/secret?seed={len(path) * 2 + stream}&speed=inf"
    body: dict[str, Any] = {"model": model, "messages": MESSAGES, "input": "Hello", "stream": stream, "max_tokens": 99}
    name = guarded.add("redact", {}, models_scope="sim/secret*")
    answer = guarded.post(body, path, x_session_id=session)
    kept = guarded.recorded(session)
    assert guarded.client_tape(kept) == answer.body
    assert answer.body.count(b"[api key removed]") > 0
    assert guarded.query(
        "SELECT count(*) FROM records_block WHERE stream_id = %s AND text LIKE %s", kept.id, "%key [api key removed].%"
    ) == [(1,)]
    # The simulator repeats the same text if asked directly.
    said = guarded.simulator.ask("openai_chat", model.removeprefix("sim/"), stream=False).read().decode()
    access_key, api_key = re.findall(r"AKIA[A-Z2-7]{16}|sk-[a-zA-Z0-9]{48}", said)
    assert stored(guarded, access_key) == stored(guarded, api_key) == []
    # The record has the size of each chunk from upstream, and the bytes of those that the client got unchanged.
    sizes = "SELECT sum(length), count(*) FILTER (WHERE raw IS NULL) > 0 FROM records_chunk WHERE stream_id = %s"
    assert guarded.query(sizes, kept.id) == [(len(guarded.sent_upstream(answer)), True)]
    assert {row[0] for row in guarded.verdicts(kept)} == {name}
    # If nothing masks it, it is stored.
    guarded.remove()
    again = uuid.uuid4().hex
    plain = guarded.post(body, path, x_session_id=again)
    assert guarded.client_tape(guarded.recorded(again)) == plain.body
    assert "records_block" in stored(guarded, access_key)


def test_who_counts_tokens_reads_what_a_model_would(guarded: Guarded) -> None:
    guarded.add("redact", {}, **SCOPE)
    body = {"model": CALL, "messages": SAYS}
    before = guarded.simulator.get_json("/_requests")["requests"]
    counted = guarded.post(body, "/v1/messages/count_tokens", anthropic_beta=SECRET)
    assert counted.status == 200
    [asked] = [each for each in guarded.simulator.get_json("/_requests")["requests"] if each not in before]
    assert asked["body"]["messages"][0]["content"] == "My key is [api key removed]."
    assert asked["headers"]["anthropic-beta"] == "[api key removed]"
    guarded.add("request_rule", {"patterns": [{"pattern": "removed"}], "text": "no keys"}, order=300, **SCOPE)
    denied = guarded.post(body, "/v1/messages/count_tokens")
    assert (denied.status, json.loads(denied.body)["error"]["message"]) == (403, "no keys")


class Portal(BaseHTTPRequestHandler):
    """A captive portal, as between many networks and the Internet."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Please sign in</title>")


@pytest.fixture
def portal() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Portal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.mark.slow
def test_a_judge_that_answers_in_html_has_failed(guarded: Guarded, session: str, portal: str) -> None:
    guarded.query("INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, %s)",
                  "portal", "openai/m", portal, "SIMULATED_KEY")  # fmt: skip
    guarded.add("llm_judge", judging(0) | {"model": "portal"}, **SCOPE)
    assert b"run_shell" not in guarded.ask("dangerous?speed=inf", session).body
    kept = guarded.recorded(session)
    [(decision, failure)] = guarded.query("SELECT decision, failure FROM records_verdict WHERE stream_id = %s", kept.id)
    assert decision == "deny"
    assert "could not be asked" in failure


@pytest.mark.slow
def test_fifty_policies_at_once_all_judge(guarded: Guarded, session: str) -> None:
    names = [guarded.add("tool_rule", {"names": [f"tool_{number}"]}, order=number, **SCOPE) for number in range(25)]
    names += [guarded.add("text_rule", {"patterns": [f"word{number}"]}, order=number, **SCOPE) for number in range(25)]
    answer = guarded.ask("dangerous?speed=inf", session)
    assert answer.body == guarded.sent_upstream(answer)
    assert {row[0] for row in guarded.verdicts(guarded.recorded(session))} == set(names)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["another rule", "gone"])
def test_a_policy_that_changes_or_goes_while_a_stream_runs_ends_it_as_it_began(
    guarded: Guarded, session: str, change: str
) -> None:
    name = guarded.add("tool_rule", {"names": ["run_shell"], "text": "[no]"}, **SCOPE)
    mode, wanted = ("off", b"run_shell") if change == "gone" else ("enforce", b"[other]")
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(guarded.ask, "dangerous?pace=300", session)
        until(guarded.open_upstream)
        changed = "UPDATE records_policyversion v SET mode = %s, parameters = %s FROM records_policy p"
        guarded.query(f"{changed} WHERE p.id = policy_id AND name = %s", mode, '{"text": "[other]"}', name)
        guarded.query("UPDATE records_policy SET mode = %s WHERE name = %s", mode, name)
        until(lambda: wanted in guarded.ask("dangerous?speed=inf", uuid.uuid4().hex).body)
        assert not running.done()
        assert b"[no]" in running.result().body
    assert {row[0] for row in guarded.verdicts(guarded.recorded(session))} == {name}


def test_a_policy_of_ones_own_that_exits_or_never_returns_takes_no_stream_with_it(
    guarded: Guarded, session: str
) -> None:
    path = "tests.e2e.own_policies"
    guarded.add("python", {"path": f"{path}.Exits"}, fail_open=True, **SCOPE)
    guarded.add("python", {"path": f"{path}.ExitsWhileItWaits"}, fail_open=True, **SCOPE)
    guarded.add("python", {"path": f"{path}.NeverReturns"}, fail_open=True, time_limit=0.3, **SCOPE)
    answer = guarded.ask("dangerous?speed=inf", session)
    assert answer.body == guarded.sent_upstream(answer)
    kept = guarded.recorded(session)
    query = "SELECT DISTINCT failure FROM records_verdict WHERE stream_id = %s AND failure <> '' ORDER BY 1"
    assert [failure for (failure,) in guarded.query(query, kept.id)] == [
        "RuntimeError: SystemExit: 5", "SystemExit: 4", "TimeoutError: it took longer than 0.3 s",
    ]  # fmt: skip


def test_a_session_is_counted_where_the_provider_tells_no_tokens(guarded: Guarded, session: str) -> None:
    guarded.add("limits", {"session": {"output_tokens": 20}}, **SCOPE)
    assert guarded.ask("dangerous?speed=inf", session).status == 200
    guarded.recorded(session)  # the client may be done before it is counted
    refused = guarded.ask("dangerous?speed=inf", session)
    assert refused.status == 403
    told = "SELECT 1 FROM records_verdict WHERE reason LIKE 'The session is at %% output tokens, as estimated%%'"
    until(lambda: guarded.query(told))


@pytest.mark.slow
def test_no_verdict_leaves_damage_in_the_record(guarded: Guarded, session: str) -> None:
    guarded.add("tool_rule", {"names": ["run_shell"]}, **SCOPE)
    assert guarded.ask("dangerous?speed=inf", session).status == 200
    guarded.recorded(session)
    assert guarded.whole()


# Within the limit of steps, but a pattern takes more than a ms to compile: all take 14 s on a fast machine.
SLOW = {"properties": {"command": {"allOf": [{"pattern": f"(x{{900}}y{n}|.{{900}}z)|"} for n in range(8_000)]}}}


def test_what_takes_too_long_is_killed_and_the_next_call_is_judged(guarded: Guarded, session: str) -> None:
    guarded.add("tool_schema", {}, time_limit=1, **SCOPE)
    slow, quick = (
        {"function": {"name": "run_shell", "parameters": schema}, "type": "function"} for schema in (SLOW, {})
    )
    answer = guarded.ask("dangerous?speed=inf", session, tools=[slow])
    assert b"rm -rf" not in answer.body
    [(failure,)] = failures(guarded, session)
    assert failure == "TimeoutError: it took longer than 1 s"
    again = uuid.uuid4().hex
    assert b"run_shell" in guarded.ask("dangerous?speed=inf", again, tools=[quick]).body
    assert failures(guarded, again) == [("",)]


def test_a_long_request_is_masked_and_its_answer_too(guarded: Guarded, session: str) -> None:
    guarded.add("redact", {}, **SCOPE)
    asked = [{"role": "user", "content": "a@b.co " + "long " * 50_000}]
    guarded.post({"model": CALL, "messages": asked, "stream": True, "user": session}, x_session_id=session)
    # Not by the answer's headers: on a busy machine it is begun before upstream's arrive, to keep the connection alive.
    upstream = [each["body"] for each in guarded.simulator.get_json("/_requests")["requests"]]
    [sent] = [each["messages"][0]["content"] for each in upstream if each.get("user") == session]
    assert sent.startswith("[e-mail removed] long")
    kept = guarded.recorded(session)
    [(request,)] = guarded.query("SELECT request FROM records_stream WHERE id = %s", kept.id)
    assert b"a@b.co" not in bytes(request)


def failures(guarded: Guarded, session: str) -> list[tuple[Any, ...]]:
    kept = guarded.recorded(session)
    return guarded.query("SELECT failure FROM records_verdict WHERE stream_id = %s", kept.id)


def sdk_calls(guarded: Guarded) -> dict[str, Callable[[], object]]:
    """Each way in which the SDKs make a call and read the answer."""
    openai_client = guarded.sdk
    url, key = guarded.server.base_url, guarded.server.api_key
    claude = anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)
    chat: Any = {"model": CALL, "messages": MESSAGES}
    messages: Any = {**chat, "max_tokens": 100}
    responses: Any = {"model": CALL, "input": "Hello"}
    google = genai.Client(api_key=key, http_options=HttpOptions(base_url=url))
    contents: Any = {"model": CALL.partition("?")[0], "contents": "Hello"}

    async def asynchronous(stream: bool) -> object:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
            answer: Any = await client.chat.completions.create(**chat, stream=stream)
            return [each async for each in answer] if stream else answer

    return {
        "chat": lambda: openai_client.chat.completions.create(**chat),
        "chat, raw": lambda: openai_client.chat.completions.with_raw_response.create(**chat).parse(),
        "chat, stream": lambda: list(openai_client.chat.completions.create(**chat, stream=True)),
        "chat, async": lambda: asyncio.run(asynchronous(False)),
        "chat, async stream": lambda: asyncio.run(asynchronous(True)),
        "messages": lambda: claude.messages.create(**messages),
        "messages, raw": lambda: claude.messages.with_raw_response.create(**messages).parse(),
        "messages, stream": lambda: list(claude.messages.create(**messages, stream=True)),
        "responses": lambda: openai_client.responses.create(**responses),
        "responses, stream": lambda: list(openai_client.responses.create(**responses, stream=True)),
        "gemini": lambda: google.models.generate_content(**contents),
        "gemini, stream": lambda: list(google.models.generate_content_stream(**contents)),
    }


def raised(call: Callable[[], object]) -> BaseException | None:
    try:
        call()
    except Exception as error:
        return error
    return None


@pytest.mark.slow
def test_a_request_that_is_denied_late_raises_in_every_sdk(guarded: Guarded) -> None:
    guarded.add("llm_judge", judging(0.9, 7, on=["request"]), **SCOPE)
    calls = sdk_calls(guarded)
    with ThreadPoolExecutor(len(calls)) as threads:
        errors = dict(zip(calls, threads.map(raised, calls.values()), strict=True))
    for way, error in errors.items():
        assert isinstance(error, openai.APIError | anthropic.APIError | GoogleError), f"{way}: {error!r}"
        assert "denied" in str(error), way
        if "stream" not in way:
            denied = openai.PermissionDeniedError | anthropic.PermissionDeniedError
            assert isinstance(error, denied) or (isinstance(error, GoogleError) and error.code == 403), way


@pytest.mark.slow
def test_a_whole_answer_that_cannot_be_one_any_more_raises(guarded: Guarded, session: str) -> None:
    guarded.add("tool_rule", {"names": ["*"]}, by_hand="deny", by_hand_seconds=60, **SCOPE)
    guarded.sign_in()
    asking: Any = {"model": CALL, "messages": MESSAGES, "extra_headers": {"x-session-id": session}}
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(raised, lambda: guarded.sdk.chat.completions.create(**asking))
        # By then the answer has begun, with white space.
        [(stream_id,)] = until(lambda: guarded.query(
            "SELECT s.id FROM records_clientrun r JOIN records_stream s ON s.id = r.stream_id"
            " JOIN records_session n ON n.id = s.session_id WHERE n.name = %s", session))  # fmt: skip
        form = {"csrfmiddlewaretoken": guarded.http.cookies["csrftoken"]}
        assert guarded.http.post(f"/streams/{stream_id}/cancel/", data=form).status_code < 400
        error = asked.result()
    assert isinstance(error, openai.APIConnectionError), repr(error)
    assert guarded.recorded(session).outcome == "halted"
