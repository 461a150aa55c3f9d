"""Who may do what: everybody tries every page and every form."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import get_resolver, reverse

from streamviz.dashboard import urls
from streamviz.dashboard.roles import OPERATOR
from streamviz.records.models import ApiKey, Policy
from tests.dashboard.conftest import Cast, recorded

EVERYBODY = ("stranger", "charlie", "bob", "alice", "administrator")
VIEWERS = {"bob", "alice", "administrator"}
OPERATORS = {"alice", "administrator"}
ADMINISTRATORS = {"administrator"}

PAGES = {
    "live": {},
    "stream": {"stream_id"},
    "peek": {"stream_id"},
    "chunks": {"stream_id"},
    "request_body": {"stream_id"},
    "sessions": {},
    "session": {"session_id"},
    "policies": {},
    "keys": {},
    "system": {},
}
FORMS = {
    "policy_mode": (OPERATORS, {"mode": "shadow", "reason": "a try"}),
    "keys": (ADMINISTRATORS, {"name": "a new one"}),
    "revoke_key": (ADMINISTRATORS, {}),
}


@pytest.fixture
def arguments(guard: Policy) -> dict[str, object]:
    """What URLs are about."""
    stream = recorded()
    key, _ = ApiKey.objects.issue("old", by=None)
    return {"stream_id": stream.pk, "session_id": stream.session_id, "key_id": key.pk, "name": guard.name}


def url_of(name: str, arguments: dict[str, object]) -> str:
    """The page's URL with those of the arguments that it takes."""
    [(_, wanted)] = get_resolver(urls.__name__).reverse_dict.getlist(name)[0][0]
    return reverse(name, kwargs={each: arguments[each] for each in wanted})


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_those_who_may_view(cast: Cast, arguments: dict[str, object], name: str) -> None:
    url = url_of(name, arguments)
    answers = {who: cast[who].get(url) for who in EVERYBODY}
    assert {who for who, answer in answers.items() if answer.status_code == 200} == VIEWERS
    assert answers["charlie"].status_code == 403
    assert (answers["stranger"].status_code, answers["stranger"].url) == (302, f"/sign-in/?next={url}")


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_for_those_whose_role_says_so(cast: Cast, arguments: dict[str, object], name: str) -> None:
    allowed, fields = FORMS[name]
    url = url_of(name, arguments)
    for who in EVERYBODY:
        status = cast[who].post(url, fields).status_code
        expected = {200, 302} if who in allowed else {302} if who == "stranger" else {403}
        assert status in expected, who
        assert _acted() is (who in allowed), who
        Policy.objects.update(mode="off")
        ApiKey.objects.filter(name="a new one").delete()
        ApiKey.objects.update(revoked_at=None)


def _acted() -> bool:
    """Whether any of the forms has done what it does."""
    return (
        Policy.objects.exclude(mode="off").exists()
        or ApiKey.objects.filter(name="a new one").exists()
        or ApiKey.objects.filter(revoked_at__isnull=False).exists()
    )


def test_a_simulated_stream_is_for_operators(cast: Cast) -> None:
    answers = {who: cast[who].post("/simulate/", {"scenario": "no such one"}) for who in EVERYBODY}
    assert {who for who, answer in answers.items() if answer.status_code == 400} == OPERATORS
    assert {who for who, answer in answers.items() if answer.status_code == 403} == {"charlie", "bob"}
    assert answers["stranger"].status_code == 302


@pytest.mark.parametrize("action", ["decide", "cancel"])
def test_what_is_done_to_running_streams_is_for_operators(
    cast: Cast, arguments: dict[str, object], action: str
) -> None:
    url, fields = url_of(action, arguments), {"ordinal": "0", "decision": "allow"}
    answers = {who: cast[who].post(url, fields) for who in EVERYBODY}
    # The stream is over, so those who may are told that it is too late.
    assert {who for who, answer in answers.items() if answer.status_code == 409} == OPERATORS
    assert {who for who, answer in answers.items() if answer.status_code == 403} == {"charlie", "bob"}
    assert answers["stranger"].status_code == 302
    assert all(cast[who].get(url).status_code in (302, 403, 405) for who in EVERYBODY)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"ordinal": "-1", "decision": "allow"},
        {"ordinal": "9" * 30, "decision": "deny"},
        {"ordinal": "0", "decision": "halt"},
    ],
)
def test_a_decision_must_be_one(cast: Cast, arguments: dict[str, object], fields: dict[str, str]) -> None:
    assert cast["alice"].post(url_of("decide", arguments), fields).status_code == 400


def test_the_admin_is_for_operators_and_administrators(cast: Cast) -> None:
    answers = {who: cast[who].get("/admin/records/policy/").status_code for who in EVERYBODY}
    assert {who for who, status in answers.items() if status == 200} == OPERATORS
    assert {who for who in EVERYBODY if cast[who].get("/admin/auth/user/").status_code == 200} == ADMINISTRATORS


def test_a_page_offers_nobody_what_they_may_not_do(cast: Cast, arguments: dict[str, object]) -> None:
    offers = {
        who: [
            b'action="/simulate/"' in cast[who].get("/").content,
            b"mode-switch" in cast[who].get("/policies/").content,
            b"Issue a key" in cast[who].get("/keys/").content,
            b'href="/admin/"' in cast[who].get("/").content,
        ]
        for who in VIEWERS
    }
    assert offers == {"bob": [False] * 4, "alice": [True, True, False, True], "administrator": [True] * 4}


def test_who_ceases_to_be_an_operator_may_enter_the_admin_no_more(cast: Cast) -> None:
    alice = User.objects.get(username="alice")
    alice.groups.remove(Group.objects.get(name=OPERATOR))
    assert cast["alice"].get("/admin/records/policy/").status_code == 302
    assert cast["alice"].get("/").status_code == 403


def test_who_is_deactivated_sees_nothing_from_then_on(cast: Cast) -> None:
    assert cast["bob"].get("/").status_code == 200
    User.objects.filter(username="bob").update(is_active=False)
    assert cast["bob"].get("/").status_code == 302


@pytest.mark.parametrize("who", EVERYBODY)
def test_forms_need_their_token(cast: Cast, guard: Policy, who: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = cast[who].cookies
    assert strict.post("/policies/guard/mode/", {"mode": "enforce", "reason": "forged"}).status_code == 403
    assert Policy.objects.get(pk=guard.pk).mode == "off"
