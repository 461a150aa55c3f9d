"""Policies apply by the model that is actually called, whatever the client wrote and whoever chose it."""

import uuid
from collections.abc import Iterator

import pytest

from tests.e2e.proxied import MESSAGES, until
from tests.e2e.test_policies import Guarded
from tests.services import Serving

pytestmark = pytest.mark.slow

ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, '')"
NOT_HERE = {"patterns": [{"pattern": "Hello"}], "text": "Not with this model."}
PATHS = ("/v1/chat/completions", "/v1/messages/count_tokens")


@pytest.fixture(scope="module")
def server(serving: Serving) -> Iterator[Guarded]:
    with serving(SHAPES_ONLY_MODELS="Content*") as running, Guarded(running) as found:
        for seed, name in enumerate(("fast", "slow", "cheap")):
            found.query(ROUTE, name, f"openai/content?speed=inf&seed={seed}", f"{found.simulator.url}/v1")
        until(lambda: all(status(found, name) == 200 for name in ("fast", "slow", "cheap")))
        yield found


@pytest.fixture
def guarded(server: Guarded) -> Iterator[Guarded]:
    yield server
    server.remove()


def status(guarded: Guarded, model: str, session: str = "", path: str = PATHS[0]) -> int:
    """The status of a call for a model."""
    body = {"model": model, "messages": MESSAGES, "max_tokens": 900}
    return guarded.post(body, path, x_session_id=session or uuid.uuid4().hex).status


@pytest.mark.parametrize("scope", ["openai/*", "content*", "CONTENT*", "fast", "OpenAI/Content*"])
@pytest.mark.parametrize("path", PATHS)
def test_a_scope_is_of_the_model_that_is_called(guarded: Guarded, scope: str, path: str) -> None:
    guarded.add("request_rule", NOT_HERE, models_scope=scope)
    assert status(guarded, "fast", path=path) == 403
    assert status(guarded, "sim/tools?speed=inf", path=path) == 200


def test_a_rule_is_of_the_model_that_is_called(guarded: Guarded) -> None:
    guarded.add("request_rule", {"models": ["content*"]})
    assert status(guarded, "fast") == 403
    guarded.add("cel_rule", {"expression": 'request.model.startsWith("tools")', "on": ["request"]})
    assert status(guarded, "sim/content?speed=inf") == 200


@pytest.mark.parametrize("path", PATHS)
def test_the_policies_of_the_model_that_a_policy_names_judge_the_request(guarded: Guarded, path: str) -> None:
    guarded.add("request_rule", {"set": {"model": "cheap"}}, models_scope="fast", order=200)
    assert status(guarded, "fast", path=path) == 200
    guarded.add("request_rule", NOT_HERE, models_scope="cheap", order=100)
    assert status(guarded, "fast", path=path) == 403
    assert status(guarded, "slow", path=path) == 200


def test_a_policy_that_judged_a_request_under_its_old_name_judges_it_again(guarded: Guarded) -> None:
    guarded.add("request_rule", {"models": ["*seed=2"]}, order=100)
    assert status(guarded, "fast") == 200
    guarded.add("request_rule", {"set": {"model": "cheap"}}, models_scope="fast", order=200)
    assert status(guarded, "fast") == 403


def test_the_policies_of_the_model_that_a_policy_names_judge_the_answer(guarded: Guarded) -> None:
    session = uuid.uuid4().hex
    guarded.add("request_rule", {"set": {"model": "cheap"}}, models_scope="fast")
    name = guarded.add("text_rule", {"patterns": ["nobody says this"]}, models_scope="cheap")
    assert status(guarded, "fast", session) == 200
    stream = guarded.recorded(session)
    assert name in {row[0] for row in guarded.verdicts(stream)}
    [(asked, called)] = guarded.query(
        "SELECT requested_model, upstream_model FROM records_stream WHERE id = %s", stream.id
    )
    assert (asked, "seed=2" in called) == ("fast", True)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_what_the_policies_of_the_model_that_a_policy_names_mask_is_kept_nowhere(guarded: Guarded, path: str) -> None:
    guarded.add("request_rule", {"set": {"model": "cheap"}}, models_scope="fast")
    guarded.add("redact", {}, models_scope="cheap")
    secret, number = f"{uuid.uuid4().hex}@example.com", uuid.uuid4().hex
    body = {"model": "fast", "messages": [{"role": "user", "content": f"I am {secret}"}], "max_tokens": 900}
    answer = guarded.post(body, path, x_session_id=f"{number} of {secret}", user_agent=f"{number} for {secret}")
    assert answer.status == 200
    kept = "SELECT s.name, t.user_agent, t.request FROM records_stream t JOIN records_session s ON s.id = t.session_id"
    [row] = until(lambda: guarded.query(f"{kept} WHERE t.user_agent LIKE %s AND t.outcome <> ''", f"{number}%"))
    label, agent, request = map(str, row)
    assert label.startswith(number)
    assert [secret in each for each in (label, agent, request)] == [False, False, False]


def test_two_that_name_each_others_models_come_to_an_end(guarded: Guarded) -> None:
    guarded.add("request_rule", {"set": {"model": "cheap"}}, models_scope="fast")
    guarded.add("request_rule", {"set": {"model": "fast"}}, models_scope="cheap")
    assert status(guarded, "fast") == 200


def test_a_model_that_a_policy_names_and_nobody_has_is_said_to_be_missing(guarded: Guarded) -> None:
    session = uuid.uuid4().hex
    guarded.add("request_rule", {"set": {"model": "nobody/nothing"}}, models_scope="fast")
    assert status(guarded, "fast", session) == 404
    assert guarded.recorded(session).status == 404


def test_an_enforced_policy_that_cannot_be_made_denies(guarded: Guarded) -> None:
    session = uuid.uuid4().hex
    name = guarded.add("python", {"path": "nowhere.at.All"}, models_scope="slow")
    assert status(guarded, "slow", session) == 403
    assert status(guarded, "fast") == 200
    assert name in {row[0] for row in guarded.verdicts(guarded.recorded(session))}


def test_of_a_model_whose_content_is_not_kept_nothing_is_by_any_name(guarded: Guarded) -> None:
    session = uuid.uuid4().hex
    assert status(guarded, "fast", session) == 200
    stream = guarded.recorded(session)
    texts = guarded.query("SELECT text FROM records_block WHERE stream_id = %s", stream.id)
    assert texts
    assert all(text == "" for (text,) in texts)
