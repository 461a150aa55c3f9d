"""What a new user pastes into clients: it contains a new key of theirs, and a model that can be called here."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import User

from streamviz.dashboard.setting_up import NO_KEY, snippets
from streamviz.records.models import ApiKey, Route
from streamviz.records.models.access import digest
from tests.dashboard.conftest import Cast


def test_a_key_is_made_on_the_spot_and_stands_in_what_is_pasted(cast: Cast) -> None:
    for number in (1, 2):
        answer = cast["administrator"].post("/keys/own/")
        assert (answer.status_code, "no-store" in answer["cache-control"]) == (200, True)
        shown = unescape(answer.content.decode())
        [secret] = set(re.findall(r"sv-[\w-]{43}", shown))
        assert shown.count(secret) == 1 + len(snippets("x"))
        key = ApiKey.objects.get(digest=digest(secret))
        assert key.created_by is not None
        assert key.name == ("administrator" if number == 1 else "administrator 2")


def test_a_key_of_a_user_with_a_long_name_has_as_much_of_it_as_fits(cast: Cast) -> None:
    User.objects.filter(username="administrator").update(username="a" * 150)
    assert [cast["administrator"].post("/keys/own/").status_code for _ in range(2)] == [200, 200]
    assert set(ApiKey.objects.values_list("name", flat=True)) == {"a" * 90, f"{'a' * 90} 2"}


def test_where_keys_are_and_what_can_be_called_are_two_sentences(cast: Cast) -> None:
    page = re.sub("<[^>]*>", "", cast["bob"].get("/").content.decode())
    assert "Replace sv-… with an API key from Keys. The simulator answers models named sim/…" in page


def test_a_new_key_of_the_keys_page_stands_in_what_is_pasted(cast: Cast) -> None:
    page = unescape(cast["administrator"].post("/keys/", {"name": "laptop"}).content.decode())
    [secret] = set(re.findall(r"sv-[\w-]{43}", page))
    assert page.count(secret) == 1 + len(snippets("x"))
    assert '<details class="snippets-fold">' in page  # the list of keys comes next, not pages of snippets
    limited = unescape(cast["administrator"].post("/keys/", {"name": "bot", "models_scope": "sim/*"}).content.decode())
    assert "model=sim/thinking" in limited.replace('"', "")


def test_where_no_provider_can_be_called_the_page_says_so(cast: Cast, bare_environment: pytest.MonkeyPatch) -> None:
    said = "other models go to their providers. No provider's credential is set yet"
    assert said in re.sub("<[^>]*>", "", unescape(cast["bob"].get("/").content.decode()))
    bare_environment.setenv("GROQ_API_KEY", "gsk-secret")
    assert "credential is set yet" not in unescape(cast["bob"].get("/").content.decode())


def test_a_route_is_a_provider_that_can_be_called(cast: Cast, bare_environment: pytest.MonkeyPatch) -> None:
    Route.objects.create(name="coder", target="openai/local", base_url="https://models.example", credential="CODER")
    assert "credential is set yet" not in unescape(cast["bob"].get("/").content.decode())


@pytest.mark.parametrize("who", ["alice", "bob", "charlie"])
def test_who_may_not_issue_keys_gets_none(cast: Cast, who: str) -> None:
    assert cast[who].post("/keys/own/").status_code == 403
    assert cast["administrator"].get("/keys/own/").status_code == 405
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    ("globs", "model"),
    [((), "openai/gpt-5"), (("sim/*",), "sim/thinking"), (("anthropic/claude-*", "gpt-*"), "anthropic/claude-*")],
)
def test_the_model_is_one_that_the_key_opens(
    bare_environment: pytest.MonkeyPatch, globs: tuple[str, ...], model: str
) -> None:
    bare_environment.setenv("OPENAI_API_KEY", "sk-x")
    assert all(model in snippet.text for snippet in snippets("http://viz.example", "sv-key", globs))


@pytest.mark.parametrize(
    ("variable", "model"),
    [("", "sim/thinking"), ("OPENAI_API_KEY", "openai/gpt-5"), ("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-4-5")],
)
def test_the_model_is_one_that_can_be_called(monkeypatch: pytest.MonkeyPatch, variable: str, model: str) -> None:
    for each in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(each, raising=False)
    if variable:
        monkeypatch.setenv(variable, "sk-x")
    for snippet in snippets("http://viz.example"):
        assert all(told in snippet.text for told in (model, "http://viz.example", NO_KEY)), snippet.client
