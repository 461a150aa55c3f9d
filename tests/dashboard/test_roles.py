"""Who may do what: every user tries every page and every form."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone

from streamviz.dashboard import urls
from streamviz.dashboard.roles import OPERATOR
from streamviz.records.ids import uuid7
from streamviz.records.models import ApiKey, Backtest, Policy, PolicyVersion, PublicLink, Stream, Verdict
from tests.dashboard.conftest import NOON, Cast, hold, recorded

EVERYBODY = ("stranger", "charlie", "bob", "alice", "administrator")
VIEWERS = {"bob", "alice", "administrator"}
OPERATORS = {"alice", "administrator"}
ADMINISTRATORS = {"administrator"}

PAGES = {
    "live": VIEWERS,
    "needs_you": VIEWERS,
    "errors": VIEWERS,
    "refused": VIEWERS,
    "compare": VIEWERS,
    "stream": VIEWERS,
    "peek": VIEWERS,
    "chunks": VIEWERS,
    "chunk": VIEWERS,
    "tapes": VIEWERS,
    "tape_row": VIEWERS,
    "block_text": VIEWERS,
    "request_body": VIEWERS,
    "request_file": VIEWERS,
    "session_histogram": VIEWERS,
    "sessions": VIEWERS,
    "session": VIEWERS,
    "export_session": VIEWERS,
    "export_stream": VIEWERS,
    "export_list": VIEWERS,
    "export_progress": VIEWERS,
    "public_links": ADMINISTRATORS,
    "stats": VIEWERS,
    "policies": VIEWERS,
    "policy": VIEWERS,
    "policy_spread": VIEWERS,
    "backtest": VIEWERS,
    "new_policy": ADMINISTRATORS,
    "keys": VIEWERS,
    "system": VIEWERS,
    "account": {*VIEWERS, "charlie"},
}
FORMS = {
    "policy_mode": (OPERATORS, {"mode": "shadow", "reason": "a try"}),
    "keys": (ADMINISTRATORS, {"name": "a new one"}),
    "own_key": (ADMINISTRATORS, {}),
    "revoke_key": (ADMINISTRATORS, {}),
}
# Their status for an invalid form shows who may submit one.
ACTIONS = {
    "simulate": (OPERATORS, 400),
    "decide": (OPERATORS, 400),
    "cancel": (OPERATORS, 409),
    "star_session": (OPERATORS, 302),
    "star_stream": (OPERATORS, 302),
    "note_stream": (OPERATORS, 302),
    "save_view": (VIEWERS, 302),
    "rename_view": (VIEWERS, 404),
    "delete_view": (VIEWERS, 302),
    "note_session": (OPERATORS, 302),
    "delete_session": (ADMINISTRATORS, 302),
    "replay_stream": (OPERATORS, 200),
    "share_session": (ADMINISTRATORS, 200),
    "share_stream": (ADMINISTRATORS, 200),
    "revoke_link": (ADMINISTRATORS, 302),
    "policy": (OPERATORS, 200),
    "new_policy": (ADMINISTRATORS, 200),
    "try_out": (OPERATORS, 200),
    "roll_back": (OPERATORS, 302),
    "start_backtest": (OPERATORS, 302),
    "cancel_backtest": (OPERATORS, 302),
}
FOR_ALL = {"sign_in", "sign_in_link", "sign_out", "theme", "shared"}


@pytest.fixture
def arguments(cast: Cast, guard: Policy, settings: Any) -> dict[str, object]:
    """Arguments for the URLs."""
    settings.PUBLIC_LINKS = True
    stream = recorded(chunk_count=1)
    hold(stream, ["Hello"], [b"data: Hello"])
    key, _ = ApiKey.objects.issue("old", by=None)
    job = Backtest.objects.create(policy=guard, **guard.fields())
    link, _ = PublicLink.objects.issue(stream, User.objects.get(username="administrator"), timedelta(days=1))
    found = {"stream_id": stream.pk, "session_id": stream.session_id, "key_id": key.pk, "job_id": job.pk}
    found["link_id"], found["view_id"], found["download_id"] = link.pk, 0, uuid7()
    found |= {"seq": 0, "ordinal": 0}
    return {**found, "name": guard.name, "number": 1, "kind": "tool_rule"}


def url_of(name: str, arguments: dict[str, object]) -> str:
    """The page's URL with those of the arguments that it takes."""
    [(_, wanted)] = get_resolver(urls.__name__).reverse_dict.getlist(name)[0][0]
    if name == "tape_row":
        arguments = {**arguments, "number": 0}
    query = f"?a={arguments['stream_id']}" if name == "compare" else ""
    return reverse(name, kwargs={each: arguments[each] for each in wanted}) + query


def is_refused(answer: Any) -> bool:
    """Strangers are asked to sign in, others get an error."""
    return answer.status_code == 403 or (answer.status_code == 302 and answer.url.startswith("/sign-in/?next=/"))


def test_every_page_is_tried() -> None:
    named = {each.name for each in urls.urlpatterns if each.name}
    assert named == PAGES.keys() | FORMS.keys() | ACTIONS.keys() | FOR_ALL
    besides = {"admin/login/", "admin/password_change/", "admin/"}
    assert {str(each.pattern) for each in get_resolver().url_patterns} == {"", *besides}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_those_who_may_view(cast: Cast, arguments: dict[str, object], name: str) -> None:
    url = url_of(name, arguments)
    answers: dict[str, Any] = {who: cast[who].get(url) for who in EVERYBODY}
    assert {who for who, answer in answers.items() if answer.status_code == 200} == PAGES[name]
    assert {who for who, answer in answers.items() if is_refused(answer)} == set(EVERYBODY) - PAGES[name]
    assert (answers["stranger"].status_code, answers["stranger"].url) == (302, f"/sign-in/?next={quote(url)}")


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
        ApiKey.objects.exclude(name="old").delete()
        ApiKey.objects.update(revoked_at=None)


def _acted() -> bool:
    """Whether any of the forms has taken effect."""
    return (
        Policy.objects.exclude(mode="off").exists()
        or ApiKey.objects.exclude(name="old").exists()
        or ApiKey.objects.filter(revoked_at__isnull=False).exists()
    )


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_is_for_those_whose_role_says_so(cast: Cast, arguments: dict[str, object], name: str) -> None:
    allowed, status = ACTIONS[name]
    url = url_of(name, arguments)
    answers = {who: cast[who].post(url) for who in EVERYBODY}
    assert {who for who, answer in answers.items() if is_refused(answer)} == set(EVERYBODY) - allowed
    assert {answer.status_code for who, answer in answers.items() if who in allowed} == {status}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"asks": "-1", "decision": "allow"},
        {"asks": "9" * 30, "decision": "deny"},
        {"ordinal": "0", "decision": "allow"},
        {"asks": "1", "decision": "halt"},
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
            b"Create key" in cast[who].get("/keys/").content,
            b'href="/admin/"' in cast[who].get("/").content,
        ]
        for who in VIEWERS
    }
    assert offers == {"bob": [False] * 4, "alice": [True, True, False, True], "administrator": [True] * 4}


def _with(*codenames: str) -> Client:
    """The browser of a user with only these permissions."""
    user = User.objects.create_user("dora")
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="records", codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    ("name", "codename"),
    [
        ("replay_stream", "change_policy"),
        ("share_session", "add_publiclink"),
        ("share_stream", "add_publiclink"),
        ("public_links", "add_publiclink"),
    ],
)
def test_what_shows_streams_is_for_those_alone_who_may_view_them(
    cast: Cast, arguments: dict[str, object], name: str, codename: str
) -> None:
    client, url = _with(codename), url_of(name, arguments)
    send = client.get if name in PAGES else client.post
    assert send(url).status_code == 403
    User.objects.get(username="dora").user_permissions.add(Permission.objects.get(codename="view_stream"))
    assert send(url).status_code == 200


def test_a_policy_is_tried_on_a_stream_by_those_alone_who_may_view_it(cast: Cast, arguments: dict[str, object]) -> None:
    client, url = _with("change_policy"), url_of("try_out", arguments)
    assert client.post(url, {"subject": "content", "text": "pasted"}).status_code == 200
    assert client.post(url, {"stream": arguments["stream_id"]}).status_code == 403


def test_policies_pages_show_streams_to_those_alone_who_may_view_them(
    cast: Cast, arguments: dict[str, object], guard: Policy
) -> None:
    stream = Stream.objects.get()
    told = {"mode": "shadow", "decision": "deny", "subject": "block", "reason": "it said this", "at": NOON}
    version = guard.versions.get()
    Verdict.objects.create(stream=stream, policy_version=version, number=0, ordinal=0, took_us=1, **told)
    example = {"stream": str(stream.pk), "ordinal": 0, "was": "allow", "now": "deny", "kind": "newly_denied"}
    Backtest.objects.update(state="finished", examples=[{**example, "reason": "it said this"}])
    client = _with("view_policy", "change_policy")
    for url in (url_of("policy", arguments), url_of("backtest", arguments)):
        seen = {who: b"it said this" in cast[who].get(url).content for who in ("alice", "bob")}
        assert seen == {"alice": True, "bob": True}
        answer = client.get(url)
        assert answer.status_code == 200
        assert not any(each in answer.content for each in (b"it said this", str(stream.pk).encode()))


@pytest.mark.parametrize(
    ("codename", "home", "linked"),
    [("view_policy", "Policies", {"/policies/"}), ("view_apikey", "Keys", {"/keys/"})],
)
def test_who_may_see_single_pages_is_led_to_those(cast: Cast, codename: str, home: str, linked: set[str]) -> None:
    client = _with(codename)
    [url] = linked
    assert client.get("/").headers["Location"] == url  # the target of the link in the header
    for path in ("/sessions/", "/no-such-page/"):
        refused = client.get(path).content.decode()
        assert "no role yet" not in refused
        assert f'href="{url}">Go to {home}</a>' in refused
    page = client.get(url).content.decode()
    assert set(re.findall(r'nav-link"? href="([^"]+)"', page)) == {*linked, "/account/"}
    assert re.findall("<dd>(Live|Sessions|Policies|Stats|Keys)</dd>", page) == [home]  # the pages that have a shortcut
    assert sign_in_as("dora").url == url


def test_who_may_enter_the_admin_alone_is_led_there(cast: Cast) -> None:
    client = _with("view_route")
    assert "no role yet" in client.get("/").content.decode()
    User.objects.filter(username="dora").update(is_staff=True)
    assert 'href="/admin/">Go to Admin</a>' in client.get("/sessions/").content.decode()
    assert client.get("/").headers["Location"] == sign_in_as("dora").url == "/admin/"
    dora = User.objects.get(username="dora")
    dora.user_permissions.clear()
    client.force_login(dora)
    assert "no role yet" in client.get("/").content.decode()


def test_who_may_view_streams_alone_is_offered_neither_keys_nor_policies(
    cast: Cast, arguments: dict[str, object], guard: Policy
) -> None:
    PolicyVersion.objects.update(changed_at=timezone.now(), reason="nobody else's business")
    told = {"mode": "enforce", "decision": "deny", "subject": "block", "at": NOON, "number": 0, "took_us": 1}
    Verdict.objects.create(stream=Stream.objects.get(), policy_version=guard.versions.get(), **told)
    client = _with("view_stream")
    urls = ["/", "/stats/", "/stats/?csv=changes", url_of("session", arguments), url_of("stream", arguments)]
    for url in urls:
        answer = client.get(url)
        assert answer.status_code == 200
        assert re.findall(r"/keys/|/policies/|nobody else.s business", answer.content.decode()) == [], url
    assert "business" in cast["bob"].get("/stats/").content.decode()


def sign_in_as(name: str) -> Any:
    """The response to a sign-in form with the user's password."""
    user = User.objects.get(username=name)
    user.set_password("a-good-passphrase")
    user.save()
    return Client().post("/sign-in/", {"username": name, "password": "a-good-passphrase"})


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


def test_who_signs_out_in_the_admin_comes_to_the_sign_in_page(cast: Cast) -> None:
    answer: Any = cast["administrator"].post("/admin/logout/")
    assert (answer.status_code, answer.url) == (302, "/sign-in/")
