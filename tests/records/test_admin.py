"""The admin for policies, keys and routes: who may do what, and the effects."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.messages import get_messages
from django.test import Client
from django.test.utils import override_script_prefix

from streamviz.dashboard.roles import OPERATOR, VIEWER
from streamviz.records.models import ApiKey, McpServer, Policy, PolicyVersion, Route
from streamviz.records.models.access import digest

POLICIES = "/admin/records/policy/"
KEYS = "/admin/records/apikey/"
ROUTES = "/admin/records/route/"
SERVERS = "/admin/records/mcpserver/"
ROUTE = {
    "name": "fast",
    "target": "openai/gpt-4.1",
    "base_url": "",
    "credential": "MY_KEY",
    "executor": "passthrough",
    "parameters": "{}",
    "why": "",
    "versions-TOTAL_FORMS": "0",
    "versions-INITIAL_FORMS": "0",
}


def signed_in(name: str, **fields: bool) -> Client:
    client = Client()
    client.force_login(User.objects.create_user(name, **fields))
    return client


@pytest.fixture
def alice(db: None) -> Client:
    """A signed-in administrator."""
    return signed_in("alice", is_staff=True, is_superuser=True)


@pytest.fixture
def policy(db: None) -> Policy:
    policy = Policy(name="guard", kind="tool_rule", parameters={"names": ["run_shell"]})
    policy.save()
    return policy


def form(policy: Policy, **changes: str) -> dict[str, str]:
    """The filled-in form of a policy's page."""
    inline = {f"versions-{key}_FORMS": "0" for key in ("TOTAL", "INITIAL", "MIN_NUM", "MAX_NUM")}
    fields = {
        "name": policy.name,
        "mode": policy.mode,
        "why": "",
        "kind": policy.kind,
        "parameters": '{"names": ["run_shell"]}',
        "models_scope": "",
        "keys_scope": "",
        "order": "100",
        "time_limit": "30",
        "by_hand_seconds": "120",
    }
    return {**inline, **fields, **changes}


def test_changing_the_mode_makes_a_version_that_says_who_and_why(alice: Client, policy: Policy) -> None:
    response = alice.post(f"{POLICIES}{policy.pk}/change/", form(policy, mode="enforce", why="it is time"))
    assert response.status_code == 302, response.content.decode()
    newest = policy.versions.all()[0]
    assert (newest.number, newest.mode, newest.reason) == (2, "enforce", "it is time")
    assert newest.changed_by is not None
    assert newest.changed_by.get_username() == "alice"


def test_what_somebody_else_saved_is_not_overwritten_unseen(alice: Client, policy: Policy) -> None:
    page = f"{POLICIES}{policy.pk}/change/"
    assert re.search(r'name="seen" value="1"', alice.get(page).content.decode())
    policy.mode = "shadow"
    policy.save()
    refused = alice.post(page, form(policy, mode="enforce", why="now", seen="1"))
    told = refused.content.decode()
    assert "it is now at v2; you were editing v1" in told
    assert Policy.objects.get(pk=policy.pk).mode == "shadow"
    # A second attempt to save shows that the user has been told.
    assert re.search(r'name="seen" value="2"', told)
    assert alice.post(page, form(policy, mode="enforce", why="now", seen="2")).status_code == 302


def test_nothing_changes_without_a_why(alice: Client, policy: Policy) -> None:
    response = alice.post(f"{POLICIES}{policy.pk}/change/", form(policy, mode="enforce"))
    assert response.status_code == 200
    assert "why" in response.context["adminform"].form.errors
    policy.refresh_from_db()
    assert (policy.mode, policy.versions.count()) == ("off", 1)


# All but the first of these would be server errors: in Python's decoder, in Postgres, or on the page that reports them.
@pytest.mark.parametrize(
    "parameters",
    [
        '{"arguments": [{"pattern": "("}]}',
        "[" * 5000 + "]" * 5000,
        '{"text": ' + "9" * 5000 + "}",
        '{"text": "\\ud800"}',
        '{"text": "\\u0000"}',
        '{"text": NaN}',
    ],
    ids=["pattern", "deep", "long number", "surrogate", "nul", "nan"],
)
def test_parameters_that_cannot_be_are_told_at_their_field(alice: Client, policy: Policy, parameters: str) -> None:
    response = alice.post(f"{POLICIES}{policy.pk}/change/", form(policy, parameters=parameters, why="typo"))
    assert "parameters" in response.context["adminform"].form.errors
    assert policy.versions.count() == 1


def test_a_policy_can_be_added(alice: Client, policy: Policy) -> None:
    response = alice.post(f"{POLICIES}add/", form(policy, name="second", mode="shadow", why="a try"))
    assert response.status_code == 302, response.content.decode()
    version = PolicyVersion.objects.get(policy__name="second")
    assert (version.number, version.mode, version.reason) == (1, "shadow", "a try")


@pytest.mark.parametrize(("action", "mode"), [("switch_to_enforce", "enforce"), ("switch_to_shadow", "shadow")])
def test_policies_are_switched_in_the_list_and_back(alice: Client, policy: Policy, action: str, mode: str) -> None:
    for name in (action, "switch_off"):
        asked = {"action": name, "_selected_action": [str(policy.pk)]}
        before = Policy.objects.get(pk=policy.pk).version
        assert "Why" in alice.post(POLICIES, asked).content.decode()
        assert Policy.objects.get(pk=policy.pk).version == before
        assert alice.post(POLICIES, {**asked, "why": "it is time"}).status_code == 302
    versions = policy.versions.all()
    assert [(version.number, version.mode) for version in versions] == [(3, "off"), (2, mode), (1, "off")]
    assert {version.changed_by.get_username() for version in versions if version.changed_by} == {"alice"}
    assert [version.reason for version in versions[:2]] == ["it is time", "it is time"]


def test_no_policy_is_switched_in_the_list_that_somebody_changed_meanwhile(alice: Client, policy: Policy) -> None:
    asked = {"action": "switch_to_enforce", "_selected_action": [str(policy.pk)]}
    seen = {f"seen-{policy.pk}": "1"}
    [(name, value)] = seen.items()
    assert f'name="{name}" value="{value}"' in alice.post(POLICIES, asked).content.decode()
    policy.order = 7
    policy.save()
    for stale in (seen, {name: "nonsense"}):
        alice.post(POLICIES, {**asked, **stale, "why": "it is time"})
        assert Policy.objects.get(pk=policy.pk).mode == "off"
    alice.post(POLICIES, {**asked, name: "2", "why": "it is time"})
    assert Policy.objects.get(pk=policy.pk).mode == "enforce"


def test_the_list_and_a_policys_page_show_mode_version_and_history(alice: Client, policy: Policy) -> None:
    policy.mode = "enforce"
    policy.save(reason="<b>because</b>")
    listing = alice.get(POLICIES).content.decode()
    assert "enforce" in listing
    assert "v2" in listing
    assert "&lt;b&gt;because" in listing
    assert "<b>because" not in listing
    assert "&lt;b&gt;because" in alice.get(f"{POLICIES}{policy.pk}/change/").content.decode()


def test_a_key_made_here_is_shown_once(alice: Client) -> None:
    response = alice.post(f"{KEYS}add/", {"name": "ci"})
    [secret] = re.findall(r"sv-[\w-]{43}", response.content.decode())
    assert "no-store" in response["Cache-Control"]
    key = ApiKey.objects.get(name="ci")
    assert key.digest == digest(secret)
    assert key.created_by is not None
    assert key.created_by.get_username() == "alice"
    for page in (KEYS, f"{KEYS}{key.pk}/change/", f"{KEYS}{key.pk}/history/", "/admin/"):
        assert secret not in alice.get(page).content.decode()


def test_no_cookie_has_a_key_and_each_is_sent_to_the_base_path_alone(alice: Client, settings: Any) -> None:
    settings.SESSION_COOKIE_PATH = settings.CSRF_COOKIE_PATH = "/team/viz/"
    added = alice.post(f"{KEYS}add/", {"name": "ci"})
    revoked = alice.post(KEYS, {"action": "revoke", "_selected_action": [str(ApiKey.objects.get().pk)]})
    assert ("messages" in added.cookies, "messages" in revoked.cookies) == (False, True)
    assert {cookie["path"] for each in (added, revoked) for cookie in each.cookies.values()} == {"/team/viz/"}


def test_renaming_a_key_keeps_its_secret(alice: Client) -> None:
    key, secret = ApiKey.objects.issue("ci")
    assert alice.post(f"{KEYS}{key.pk}/change/", {"name": "build"}).status_code == 302
    assert ApiKey.objects.get(digest=digest(secret)).name == "build"


def test_keys_are_revoked_in_the_list(alice: Client) -> None:
    key, _ = ApiKey.objects.issue("ci")
    other, _ = ApiKey.objects.issue("other")
    response = alice.post(KEYS, {"action": "revoke", "_selected_action": [str(key.pk)]})
    assert [str(message) for message in get_messages(response.wsgi_request)] == ["1 revoked."]
    key.refresh_from_db()
    other.refresh_from_db()
    assert (key.is_revoked, other.is_revoked) == (True, False)


def test_nobody_can_delete_what_the_record_points_to(alice: Client, policy: Policy) -> None:
    key, _ = ApiKey.objects.issue("ci")
    for page, pk in ((POLICIES, policy.pk), (KEYS, key.pk)):
        assert alice.post(f"{page}{pk}/delete/", {"post": "yes"}).status_code == 403
        alice.post(page, {"action": "delete_selected", "_selected_action": [str(pk)], "post": "yes"})
    assert Policy.objects.filter(pk=policy.pk).exists()
    assert ApiKey.objects.filter(pk=key.pk).exists()


def test_a_route_can_be_made(alice: Client) -> None:
    assert alice.post(f"{ROUTES}add/", ROUTE).status_code == 302
    assert Route.objects.get().target == "openai/gpt-4.1"


def test_each_change_of_a_route_makes_a_version_that_says_who_and_why(alice: Client) -> None:
    alice.post(f"{ROUTES}add/", ROUTE)
    page = f"{ROUTES}{Route.objects.get().pk}/change/"
    changed = {**ROUTE, "executor": "reasoning", "parameters": '{"steps": 3}', "why": "It plans."}
    assert alice.post(page, changed).status_code == 302
    assert alice.post(page, {**changed, "why": "Nothing changes."}).status_code == 302
    route = Route.objects.get()
    versions = [(each.number, each.executor, each.parameters, each.reason) for each in route.versions.all()]
    assert versions == [(2, "reasoning", {"steps": 3}, "It plans."), (1, "passthrough", {}, "")]
    assert {str(each.changed_by) for each in route.versions.all()} == {"alice"}
    assert "It plans." in alice.get(page).content.decode()


def test_versions_are_not_read_from_a_form(alice: Client, policy: Policy) -> None:
    """If it claimed a number of rows, Django would build as many forms."""
    many = {"versions-TOTAL_FORMS": "1000000"}
    assert alice.post(f"{ROUTES}add/", {**ROUTE, **many}).status_code == 302
    page = f"{ROUTES}{Route.objects.get().pk}/change/"
    assert alice.post(page, {**ROUTE, "target": "openai/o4-mini", "why": "cheaper", **many}).status_code == 302
    assert alice.post(f"{POLICIES}{policy.pk}/change/", form(policy, order="7", why="first", **many)).status_code == 302
    refused = alice.post(f"{POLICIES}{policy.pk}/change/", form(policy, order="8", **many)).content.decode()
    assert "first" in refused  # the page that says what is wrong lists the versions too


@pytest.mark.parametrize(
    "wrong",
    [
        *({"executor": "other"}, {"parameters": '{"steps": 3}'}, {"parameters": "[]"}, {"name": "a, b"}),
        *({"parameters": "[" * 5000}, {"parameters": '{"a": "\\ud800"}'}, {"parameters": "9" * 5000}),
    ],
)
def test_it_rejects_a_route_that_could_not_be_used_or_listed(alice: Client, wrong: dict[str, str]) -> None:
    assert alice.post(f"{ROUTES}add/", {**ROUTE, **wrong}).status_code == 200
    assert not Route.objects.exists()


def in_role(name: str, role: str) -> Client:
    """The browser of a user with a role."""

    client = signed_in(name)
    User.objects.get(username=name).groups.add(Group.objects.get(name=role))
    return client


def test_an_operator_switches_policies_and_makes_neither_keys_nor_routes(policy: Policy) -> None:
    bob = in_role("bob", OPERATOR)
    assert bob.post(f"{POLICIES}{policy.pk}/change/", form(policy, mode="enforce", why="now")).status_code == 302
    bob.post(POLICIES, {"action": "switch_off", "_selected_action": [str(policy.pk)], "why": "enough"})
    versions = policy.versions.all()
    assert [version.mode for version in versions] == ["off", "enforce", "off"]
    assert {version.changed_by.get_username() for version in versions if version.changed_by} == {"bob"}
    for page in (f"{POLICIES}add/", f"{KEYS}add/", f"{ROUTES}add/"):
        assert bob.get(page).status_code == 403
    key, _ = ApiKey.objects.issue("ci")
    bob.post(KEYS, {"action": "revoke", "_selected_action": [str(key.pk)]})
    key.refresh_from_db()
    assert not key.is_revoked


def test_a_viewer_does_not_enter_the_admin(policy: Policy) -> None:
    charlie = in_role("charlie", VIEWER)
    for page in (POLICIES, KEYS, ROUTES, f"{POLICIES}{policy.pk}/change/"):
        assert charlie.get(page).status_code == 302
    assert charlie.post(f"{POLICIES}{policy.pk}/change/", form(policy, mode="enforce", why="?")).status_code == 302
    assert policy.versions.count() == 1


def test_staff_who_may_only_look_cannot_act_on_the_list(policy: Policy) -> None:
    charlie = in_role("charlie", VIEWER)
    User.objects.filter(username="charlie").update(is_staff=True)
    assert charlie.get(POLICIES).status_code == 200
    charlie.post(POLICIES, {"action": "switch_to_enforce", "_selected_action": [str(policy.pk)], "why": "?"})
    assert charlie.post(f"{POLICIES}{policy.pk}/change/", form(policy, mode="enforce", why="?")).status_code == 403
    assert policy.versions.count() == 1


def test_staff_without_permission_changes_nothing(db: None, policy: Policy) -> None:
    bob = signed_in("bob", is_staff=True)
    assert bob.get(POLICIES).status_code == 403
    assert bob.post(f"{POLICIES}{policy.pk}/change/", form(policy, mode="enforce", why="?")).status_code == 403
    assert bob.post(POLICIES, {"action": "switch_off", "_selected_action": [str(policy.pk)]}).status_code == 403
    assert bob.post(f"{KEYS}add/", {"name": "ci"}).status_code == 403
    assert policy.versions.count() == 1


MCP_SERVER = {
    "name": "files",
    "command": "mcp-files --root '/srv/a b'",
    "url": "",
    "tools": "read_*",
    "is_enabled": "on",
}


def test_an_administrator_names_mcp_servers(alice: Client) -> None:
    assert alice.post(f"{SERVERS}add/", MCP_SERVER).status_code == 302
    known = McpServer.objects.get().as_known()
    assert (known.command, known.tools) == (("mcp-files", "--root", "/srv/a b"), ("read_*",))
    assert "is called mcp__files__ and its name" in alice.get(f"{SERVERS}add/").content.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "http://127.0.0.1:1/mcp"},
        {"command": ""},
        {"command": "it's"},
        {"name": "My files"},
        {"name": "my__files"},
        {"name": "files_"},
        {"tools": ""},
        {"command": "", "url": "http://mcp.example.com/mcp", "credential": "MCP_KEY"},
    ],
)
def test_it_rejects_an_mcp_server_that_cannot_be_used(alice: Client, wrong: dict[str, str]) -> None:
    assert alice.post(f"{SERVERS}add/", {**MCP_SERVER, **wrong}).status_code == 200
    assert not McpServer.objects.exists()


def test_a_credential_goes_over_https_or_to_this_machine(alice: Client) -> None:
    for name, url in (("far", "https://mcp.example.com/mcp"), ("near", "http://[::1]:8080/mcp")):
        given = {**MCP_SERVER, "name": name, "command": "", "url": url, "credential": "MCP_KEY"}
        assert alice.post(f"{SERVERS}add/", given).status_code == 302


def test_nobody_but_administrators_sees_mcp_servers(alice: Client) -> None:
    operator = User.objects.create_user("oscar", is_staff=True)
    operator.user_permissions.set(Permission.objects.filter(content_type__app_label="records"))
    client = Client()
    client.force_login(operator)
    assert client.get(SERVERS).status_code == 403
    assert client.post(f"{SERVERS}add/", MCP_SERVER).status_code == 403
    assert "mcpserver" not in client.get("/admin/").content.decode()
    assert "mcpserver" in alice.get("/admin/").content.decode()


def test_an_empty_list_says_whether_there_is_any(alice: Client) -> None:
    assert "No routes yet" in alice.get(ROUTES).content.decode()
    found = alice.get(f"{ROUTES}?q=nowhere").content.decode()
    assert "No routes match" in found
    assert "yielded" not in found


def test_below_a_path_it_leads_to_the_pages_there(alice: Client) -> None:
    with override_script_prefix("/team/viz/"):
        page = alice.get("/admin/").content.decode()
    assert set(re.findall(r'href="(/|/team/viz/)"', page)) == {"/team/viz/"}
