"""The policies' pages: switching, changing, trying out, rolling back and back-testing, by those who may."""

import json
import re
import sys
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from streamviz.dashboard.forms import PolicyForm
from streamviz.live.filters import parse_filter
from streamviz.live.publisher import publisher
from streamviz.policies.registry import REGISTRY
from streamviz.records.backtests.jobs import MOST_AT_ONCE, STARTING, cancel, run_job
from streamviz.records.models import Backtest, Policy
from tests.dashboard.conftest import Cast, recorded

Form = dict[str, Any]


@pytest.fixture
def alice(cast: Cast) -> Client:
    return cast["alice"]


@pytest.fixture
def administrator(cast: Cast) -> Client:
    return cast["administrator"]


def form(**changes: Any) -> Form:
    """The values in the form on the guard's page."""
    usual = {
        "mode": "off", "order": 100, "models_scope": "", "keys_scope": "", "kinds_scope": "", "tools_scope": "",
        "time_limit": 30, "by_hand": "", "by_hand_seconds": 120, "reason": "a try", "p.names": "run_shell\nbash",
        "p.arguments": "", "p.action": "deny", "p.text": "",
    }  # fmt: skip
    return usual | changes


def text(response: Any) -> str:
    assert response.status_code == 200, response.status_code
    return str(response.content.decode())


@pytest.mark.parametrize("name", ["alice", "bob", "administrator"])
def test_everybody_with_a_role_sees_them(cast: Cast, guard: Policy, name: str) -> None:
    listing, page = text(cast[name].get("/policies/")), text(cast[name].get("/policies/guard/"))
    assert "guard" in listing
    assert ("policy-form" in page) is (name != "bob")


def test_what_a_shadow_would_not_allow_was_allowed(alice: Client, guard: Policy) -> None:
    stream, version = recorded("judged"), guard.versions.get()
    for number, mode in enumerate(["enforce", "shadow", "shadow"]):
        verdict = {"mode": mode, "decision": "deny", "reason": f"by {mode}", "took_us": 1}
        stream.verdicts.create(number=number, policy_version=version, at=timezone.now(), **verdict)
    listed = text(alice.get("/policies/"))
    assert [words for words in ("1 denied", "2 would deny") if words in listed] == ["1 denied", "2 would deny"]
    assert "by shadow" not in text(alice.get("/policies/guard/?verdicts=intervened"))


def test_policies_are_listed_by_mode_and_in_their_order_or_another(alice: Client, guard: Policy) -> None:
    for order, (name, mode) in enumerate((("late", "shadow"), ("early", "enforce"), ("first", "enforce"))):
        Policy(name=name, kind="tool_rule", mode=mode, order=9 - order, parameters={"names": ["a"]}).save()
    Policy.objects.exclude(name__in=["late", "early", "first", "guard"]).delete()
    names = re.compile(r"Enforced|In shadow only|In shadow|Off|<b>(?:late|early|first|guard)</b>")
    table = text(alice.get("/policies/")).split("<tbody", 1)[1]
    assert [re.sub("</?b>", "", name) for name in names.findall(table)] == [
        *("Enforced", "first", "early", "In shadow", "late", "Off", "guard"),
    ]
    page = text(alice.get("/policies/?sort=policy")).split("<tbody", 1)[1]
    assert page.index("<b>early</b>") < page.index("<b>first</b>") < page.index("<b>late</b>")


def test_a_policy_that_asks_a_person_leads_to_what_it_asks(
    alice: Client, guard: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked_by() -> Counter[str]:
        return Counter({"guard": 2})

    monkeypatch.setattr(publisher, "asked_by", asked_by)
    page = alice.get("/policies/").content.decode()
    [(href, words)] = re.findall(r'<a class="asks-pill" href="([^"]+)">(.*?)</a>', page, re.DOTALL)
    assert re.sub("<[^>]*>", "", words).strip() == "2 waiting"
    wanted = parse_filter(parse_qs(urlsplit(unescape(href)).query)["q"][0])
    assert [(term.field, term.value) for term in wanted.terms] == [("state", "needs you"), ("policy", "guard")]
    # People who may not see streams get the text without a link.
    User.objects.get(username="alice").groups.clear()
    User.objects.get(username="alice").user_permissions.add(Permission.objects.get(codename="view_policy"))
    page = alice.get("/policies/").content.decode()
    assert ("2 waiting" in page, "asks-pill" in page) == (True, False)


CHANGES = ["/policies/guard/", "/policies/guard/mode/", "/policies/guard/try-out/", "/policies/guard/roll-back/1/",
           "/policies/guard/back-tests/"]  # fmt: skip


@pytest.mark.parametrize("path", [*CHANGES, "/policies/new/tool_rule/"])
@pytest.mark.parametrize("name", ["stranger", "charlie", "bob"])
def test_who_may_not_change_policies_cannot(cast: Cast, guard: Policy, name: str, path: str) -> None:
    response = cast[name].post(path, {**form(mode="enforce"), "streams": 10, "version": 1})
    assert response.status_code == (302 if name == "stranger" else 403)
    assert Policy.objects.get(name="guard").version == 1
    assert not Backtest.objects.exists()


def test_an_operator_makes_no_policies(alice: Client) -> None:
    assert alice.post("/policies/new/tool_rule/", form(name="mine")).status_code == 403
    assert not Policy.objects.filter(name="mine").exists()


def test_a_mode_is_switched_with_a_reason_and_not_without(alice: Client, guard: Policy) -> None:
    alice.post("/policies/guard/mode/", {"mode": "enforce", "reason": " "})
    assert Policy.objects.get(name="guard").version == 1
    page = alice.post("/policies/guard/mode/", {"mode": "enforce", "reason": "it is time"}, follow=True)
    assert '<bdi>it is time</bdi></span> <span class="muted">alice, ' in text(page)
    version = guard.versions.all()[0]
    assert (version.number, version.mode, version.reason) == (2, "enforce", "it is time")
    assert version.changed_by == User.objects.get(username="alice")


@pytest.mark.parametrize("path", ["/policies/guard/mode/", "/policies/guard/roll-back/1/"])
def test_nothing_that_somebody_changed_meanwhile_is_switched_or_rolled_back_unseen(
    alice: Client, guard: Policy, path: str
) -> None:
    for order in (5, 6):
        guard.order = order
        guard.save()
    sent = {"mode": "enforce", "reason": "it is time"}
    assert "it is now at v3; you were editing v2" in text(alice.post(path, sent | {"seen": 2}, follow=True))
    assert Policy.objects.get(name="guard").version == 3
    for _ in range(2):  # as somebody who clicks twice
        assert "as v4" in text(alice.post(path, sent | {"seen": 3}, follow=True))
    assert Policy.objects.get(name="guard").version == 4


def test_the_pages_say_which_version_they_show(alice: Client, guard: Policy) -> None:
    guard.order = 5
    guard.save()
    for path, action in [("/policies/", "mode/"), ("/policies/guard/", "roll-back/1/")]:
        form_of = text(alice.get(path)).split(f'action="/policies/guard/{action}"')[1].split("</form>")[0]
        assert '<input type="hidden" name="seen" value="2">' in form_of


def test_what_cannot_run_cannot_be_switched_on(alice: Client, db: None) -> None:
    Policy(name="broken", kind="text_rule", parameters={"patterns": ["("]}).save()
    page = alice.post("/policies/broken/mode/", {"mode": "enforce", "reason": "now"}, follow=True)
    assert "not a regular expression" in text(page)
    assert Policy.objects.get(name="broken").mode == "off"


def test_a_policys_form_changes_its_parameters_and_scope(alice: Client, guard: Policy) -> None:
    arguments = [{"path": "$.command", "pattern": "rm"}]
    sent = form(mode="shadow", tools_scope="run_*", fail_open="on") | {"p.arguments": json.dumps(arguments)}
    assert alice.post("/policies/guard/", sent).status_code == 302
    changed = Policy.objects.get(name="guard")
    assert changed.parameters == {"names": ["run_shell", "bash"], "arguments": arguments, "action": "deny"}
    assert (changed.mode, changed.tools_scope, changed.fail_open, changed.version) == ("shadow", "run_*", True, 2)


@pytest.mark.parametrize(
    ("kind", "emptied", "saved"),
    [
        ("text_rule", {"p.patterns": "a", "p.replacement": ""}, {"patterns": ["a"], "replacement": ""}),
        ("redact", {"p.mask": ""}, {"mask": ""}),
        ("shell_rule", {"p.may_delete": "", "p.text": ""}, {"may_delete": []}),
        ("tool_rule", {"p.names": "", "p.action": ""}, {}),
    ],
)
def test_a_field_that_is_emptied_does_not_get_its_default_again(
    alice: Client, kind: str, emptied: Form, saved: Form
) -> None:
    Policy(name="mine", kind=kind, parameters={"patterns": ["a"]} if kind == "text_rule" else {}).save()
    usual = {name: value for name, value in form().items() if not name.startswith("p.")}
    assert alice.post("/policies/mine/", usual | emptied).status_code == 302
    assert Policy.objects.get(name="mine").parameters == saved


def test_what_somebody_else_saved_is_not_overwritten_unseen(cast: Cast, guard: Policy) -> None:
    theirs = form(mode="shadow", seen=1, reason="Look first.")
    assert cast["administrator"].post("/policies/guard/", theirs).status_code == 302
    mine = form(order=7, seen=1, reason="Mine.")
    page = text(cast["alice"].post("/policies/guard/", mine))
    assert "it is now at v2; you were editing v1" in page
    newer = page.split('class="newer"')[1].split("</section>")[0]
    assert all(words in newer for words in ("administrator", "Look first.", "-mode: off", "+mode: shadow"))
    assert 'name="seen" value="2"' in page
    found = Policy.objects.get(name="guard")
    assert (found.version, found.mode, found.order) == (2, "shadow", 100)
    assert cast["alice"].post("/policies/guard/", mine | {"seen": 2}).status_code == 302
    assert Policy.objects.get(name="guard").order == 7


def test_of_two_saves_at_once_the_later_is_told_too(
    guard: Policy, monkeypatch: pytest.MonkeyPatch, alice: Client
) -> None:
    checked = PolicyForm.is_valid

    def then_somebody_saves(filled_in: PolicyForm) -> bool:
        is_valid = checked(filled_in)
        if Policy.objects.get(name="guard").version == 1:
            other = Policy.objects.get(name="guard")
            other.order = 3
            other.save()
        return is_valid

    monkeypatch.setattr(PolicyForm, "is_valid", then_somebody_saves)
    page = text(alice.post("/policies/guard/", form(mode="shadow", seen=1)))
    assert "it is now at v2; you were editing v1" in page
    assert "+order: 3" in page
    assert Policy.objects.get(name="guard").mode == "off"


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"p.arguments": '[{"pattern": "("}]'}, "p.arguments", "not a regular expression"),
        ({"p.arguments": '[{"pattern": "100%d("}]'}, "p.arguments", "100%d("),
        ({"p.arguments": "{no"}, "p.arguments", "valid JSON"),
        ({"p.arguments": "[" * 5000 + "]" * 5000}, "p.arguments", "valid JSON"),
        ({"p.arguments": '[{"pattern": "\\ud800"}]'}, "p.arguments", "valid JSON"),
        ({"p.arguments": '[{"pattern": "\\u0000"}]'}, "p.arguments", "valid JSON"),
        ({"p.arguments": "9" * 5000}, "p.arguments", "valid JSON"),
        ({"kinds_scope": "wishful"}, "kinds_scope", "no kind of block"),
        ({"time_limit": 0}, "time_limit", "greater than"),
        ({"reason": ""}, "reason", "required"),
    ],
)
def test_what_is_wrong_is_told_at_its_field(
    alice: Client, guard: Policy, changes: Form, field: str, words: str
) -> None:
    response = alice.post("/policies/guard/", form(**changes))
    assert words in " ".join(response.context["form"].errors[field])
    assert words in text(response)
    assert Policy.objects.get(name="guard").version == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [("guard", "There is a policy of this name already."), ("a b", "Only letters, digits, - and _ are allowed.")],
)
def test_a_name_that_cannot_be_is_refused_in_plain_words(
    administrator: Client, guard: Policy, name: str, words: str
) -> None:
    response = administrator.post("/policies/new/cel_rule/", {**form(name=name), "p.expression": "true"})
    assert response.context["form"].errors["name"] == [words]


def test_an_expression_is_checked_at_its_field(administrator: Client) -> None:
    sent = {**form(name="mine"), "p.expression": "blok == 1", "p.on": ["tool_call"], "p.decision": "deny"}
    response = administrator.post("/policies/new/cel_rule/", sent)
    assert response.context["form"].errors["p.expression"][0].startswith("blok is not known")
    assert administrator.post("/policies/new/cel_rule/", sent | {"p.expression": "true"}).status_code == 302
    assert Policy.objects.get(name="mine").parameters == {
        "expression": "true", "on": ["tool_call"], "decision": "deny",
    }  # fmt: skip


@pytest.mark.parametrize("kind", REGISTRY)
def test_each_kind_of_policy_has_a_form(administrator: Client, kind: str) -> None:
    page = text(administrator.get(f"/policies/new/{kind}/"))
    properties = REGISTRY[kind].schema["properties"]
    assert isinstance(properties, dict)
    for name in properties:
        assert f'name="p.{name}' in page
    assert administrator.get("/policies/new/wishful/").status_code == 404


def test_limits_are_filled_in_one_by_one(administrator: Client) -> None:
    sent = {**form(name="capped"), "p.stream.tool_calls": "5", "p.session.cost": "0.5", "p.text": ""}
    assert administrator.post("/policies/new/limits/", sent).status_code == 302
    assert Policy.objects.get(name="capped").parameters == {"stream": {"tool_calls": 5}, "session": {"cost": 0.5}}


def test_only_an_administrator_chooses_code(cast: Cast) -> None:
    sent = {**form(name="mine"), "p.path": "tests.policies.test_python.Mine", "p.parameters": ""}
    assert cast["administrator"].post("/policies/new/python/", sent).status_code == 302
    refused = cast["alice"].post("/policies/mine/", sent | {"p.path": "tests.core.support.Opinion"})
    assert "Only an administrator" in text(refused)
    assert "Only an administrator" in text(cast["alice"].post("/policies/mine/", sent | {"mode": "shadow"}))
    assert cast["administrator"].post("/policies/mine/", sent | {"mode": "shadow"}).status_code == 302
    assert cast["alice"].post("/policies/mine/", sent | {"mode": "enforce", "order": 7}).status_code == 302
    assert cast["alice"].post("/policies/mine/", sent).status_code == 302
    tried = {**sent, "p.path": "tests.core.support.Opinion", "subject": "content", "text": "x"}
    assert "Only an administrator" in text(cast["alice"].post("/policies/mine/try-out/", tried))
    admin = cast["alice"].post(
        f"/admin/records/policy/{Policy.objects.get(name='mine').pk}/change/",
        {"name": "mine", "kind": "python", "parameters": '{"path": "os.path.Evil"}', "mode": "off", "why": "x",
         "order": 1, "time_limit": 30, "by_hand_seconds": 120, "versions-TOTAL_FORMS": 0, "versions-INITIAL_FORMS": 0},
    )  # fmt: skip
    assert admin.status_code == 200
    assert Policy.objects.get(name="mine").parameters == {"path": sent["p.path"]}


@pytest.fixture
def own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Policy:
    """A policy from a module that no one has imported; its second version is of another kind."""
    (tmp_path / "own_code.py").write_text("from tests.policies.test_python import Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_code", raising=False)
    policy = Policy(name="mine", kind="python", parameters={"path": "own_code.Mine"})
    policy.save()
    return policy


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_nobody_but_an_administrator_has_a_module_imported(
    cast: Cast, guard: Policy, own_code: Policy, name: str
) -> None:
    person = cast[name]
    sent = {**form(name="mine", mode="enforce"), "p.path": "own_code.Mine", "p.parameters": ""}
    admin = {
        "kind": "python", "parameters": '{"path": "own_code.Mine"}', "mode": "enforce", "why": "x", "order": 1,
        "time_limit": 30, "by_hand_seconds": 120, "versions-TOTAL_FORMS": 0, "versions-INITIAL_FORMS": 0,
    }  # fmt: skip
    for path, fields in [
        ("/policies/new/python/", sent | {"name": "other"}),
        ("/policies/mine/", sent),
        ("/policies/mine/mode/", {"mode": "enforce", "reason": "x"}),
        ("/policies/mine/try-out/", {**sent, "subject": "content", "text": "x"}),
        ("/policies/mine/back-tests/", {"version": 1, "streams": 1}),
        ("/admin/records/policy/add/", admin | {"name": "other"}),
        (f"/admin/records/policy/{own_code.pk}/change/", admin | {"name": "mine"}),
        (f"/admin/records/policy/{guard.pk}/change/", admin | {"name": "guard"}),
        ("/admin/records/policy/", {"action": "switch_to_enforce", "_selected_action": own_code.pk, "why": "x"}),
    ]:
        person.post(path, fields)
        assert "own_code" not in sys.modules, path
    own_code.kind, own_code.parameters, own_code.mode = "tool_rule", {"names": ["x"]}, "enforce"
    own_code.save()
    person.post("/policies/mine/roll-back/1/", {"reason": "x"})
    assert "own_code" not in sys.modules
    assert (Policy.objects.get(name="mine").kind, Backtest.objects.count()) == ("tool_rule", 0)
    assert not Policy.objects.filter(name="other").exists()


def test_an_administrator_has_it_imported(cast: Cast, own_code: Policy) -> None:
    tried = {**form(), "p.path": "own_code.Mine", "p.parameters": "", "subject": "content", "text": "x"}
    cast["administrator"].post("/policies/mine/try-out/", tried)
    assert "own_code" in sys.modules


def test_a_policy_is_rolled_back_as_a_version_of_its_own(alice: Client, guard: Policy) -> None:
    alice.post("/policies/guard/", form(mode="enforce", order=7))
    page = text(alice.get("/policies/guard/"))
    assert "-mode: off" in page
    assert "+mode: enforce" in page
    alice.post("/policies/guard/roll-back/1/", {"reason": ""})
    assert Policy.objects.get(name="guard").version == 2
    alice.post("/policies/guard/roll-back/1/", {"reason": "too strict"})
    back = Policy.objects.get(name="guard")
    assert (back.version, back.mode, back.order, back.parameters) == (3, "off", 100, {"names": ["run_shell"]})
    assert back.versions.all()[0].reason == "too strict"


TRIES: list[tuple[str, Form, Form, str]] = [
    ("tool_rule", {"names": ["run_shell"], "text": "[no]"},
     {"subject": "tool_call", "name": "run_shell", "text": "{}"}, "[no]"),
    ("text_rule", {"patterns": ["secret"], "replacement": "[gone]"},
     {"subject": "content", "text": "a secret."}, "a [gone]."),
    ("redact", {}, {"subject": "content", "text": "AKIAIOSFODNN7EXAMPLE."}, "[api key removed]."),
    ("tool_schema", {}, {"subject": "tool_call", "name": "f", "text": "{}", "tools": "[]"}, "no tool called f"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "parameters", "tried", "words"), TRIES, ids=[each[0] for each in TRIES])
def test_a_policy_is_tried_on_what_is_pasted(
    alice: Client, kind: str, parameters: Form, tried: Form, words: str
) -> None:
    Policy(name="mine", kind=kind, parameters=parameters).save()
    sent = {f"p.{name}": "\n".join(value) if isinstance(value, list) else value for name, value in parameters.items()}
    usual = {name: value for name, value in form().items() if not name.startswith("p.")}
    page = text(alice.post("/policies/mine/try-out/", {**usual, **sent, **tried}))
    assert words in page
    assert Policy.objects.get(name="mine").version == 1


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["secret <", "secret \u202e", "secret "])
def test_what_came_of_a_huge_text_is_a_small_page(alice: Client, unit: str) -> None:
    parameters: Form = {"patterns": ["secret"], "replacement": "<&" * 400}
    Policy(name="mine", kind="text_rule", parameters=parameters).save()
    usual = {name: value for name, value in form().items() if not name.startswith("p.")}
    sent = {"p.patterns": "secret", "p.replacement": "<&" * 400}
    tried = {"subject": "content", "text": unit * (190_000 // len(unit))}
    answer = alice.post("/policies/mine/try-out/", {**usual, **sent, **tried})
    assert "What the client would have received" in text(answer)
    assert "characters not shown" in text(answer)
    assert len(answer.content) < 2_000_000


def test_a_policy_is_tried_as_it_is_filled_in_not_as_it_is_saved(alice: Client, guard: Policy) -> None:
    tried = {"subject": "tool_call", "name": "read_file", "text": "{}"}
    assert "received the stream unchanged" in text(alice.post("/policies/guard/try-out/", {**form(), **tried}))
    draft = {**form(), **tried, "p.names": "read_*", "p.text": "[draft]"}
    assert "[draft]" in text(alice.post("/policies/guard/try-out/", draft))
    assert "not a regular expression" in text(
        alice.post("/policies/guard/try-out/", {**draft, "p.arguments": '[{"pattern": "("}]'})
    )


@pytest.mark.parametrize(
    ("wrong", "label"),
    [({"p.arguments": "{no"}, "arguments: "), ({"kinds_scope": "wishful"}, "Kinds of block: "),
     ({"time_limit": "soon"}, "Time limit: ")],
)  # fmt: skip
def test_a_draft_that_could_not_be_saved_is_not_tried(alice: Client, guard: Policy, wrong: Form, label: str) -> None:
    tried = {**form(), "subject": "tool_call", "name": "run_shell", "text": "{}", **wrong}
    page = text(alice.post("/policies/guard/try-out/", tried))
    assert label in page
    assert 'class="try-out"' not in page


def test_what_is_wrong_with_a_draft_is_said_once(alice: Client) -> None:
    Policy(name="mine", kind="text_rule", parameters={"patterns": ["a"]}).save()
    usual = {name: value for name, value in form().items() if not name.startswith("p.")} | {"text": "a"}
    wrong = text(alice.post("/policies/mine/try-out/", {**usual, "p.patterns": "("}))
    assert re.findall(r">\s*patterns.0: not a regular expression", wrong)
    missing = text(alice.post("/policies/mine/try-out/", {**usual, "p.patterns": ""}))
    assert "patterns: This field is required." in missing
    assert "required property" not in missing


def test_why_a_policy_failed_is_said_once(alice: Client) -> None:
    Policy(name="mine", kind="cel_rule", parameters={"expression": "args.n > 3"}).save()
    usual = {name: value for name, value in form().items() if not name.startswith("p.")}
    tried = {"p.expression": "args.n > 3", "subject": "tool_call", "name": "f", "text": '{"n": "a"}'}
    assert text(alice.post("/policies/mine/try-out/", {**usual, **tried})).count("a value is of another type") == 1


def test_a_policy_cannot_be_tried_on_a_stream_that_is_not_there(alice: Client, guard: Policy) -> None:
    tried = {**form(), "stream": "01a2b3c4-0000-7000-8000-000000000000"}
    assert "no such stream" in text(alice.post("/policies/guard/try-out/", tried))


def test_a_back_test_of_an_empty_record(alice: Client, guard: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(
        "streamviz.dashboard.views.backtests.subprocess.Popen", lambda command, **_: started.append(command)
    )
    response = alice.post("/policies/guard/back-tests/", {"version": 1, "streams": 10})
    job = Backtest.objects.get()
    assert response.status_code == 302
    assert started[0][-2:] == ["--job", str(job.pk)]
    assert "waiting" in text(alice.get(response["location"]))
    run_job(job)
    job.refresh_from_db()
    assert (job.state, job.figures["streams"], job.ended_at is not None) == ("done", 0, True)
    page = text(alice.get(response["location"], headers={"hx-request": "true"}))
    assert "<html" not in page
    assert "hx-get" not in page
    Backtest.objects.update(streams=1)
    assert "The newest stream, started by" in text(alice.get(response["location"]))


def test_figures_of_a_back_test_say_what_they_count(alice: Client, guard: Policy) -> None:
    found = {"streams": 3, "judged": 2, "newly_denied": 1, "newly_allowed": 4, "decisions": {"deny": 5}, "failures": 1}
    found |= {"asked": 6, "held": 1, "wait_p50": 7, "wait_p95": 8, "wait_max": 9}
    job = Backtest.objects.create(policy=guard, state="done", total=3, figures=found, **guard.fields())
    page = text(alice.get(f"/policies/guard/back-tests/{job.pk}/"))
    facts = dict(re.findall(r"<dt>(.*?)</dt>\s*<dd[^>]*>(.*?)</dd>", page))
    assert facts["Judged"] == "2 streams"
    assert (facts["Newly denied"], facts["Newly allowed"]) == ("1 verdict", "4 verdicts")
    assert (facts["Deny"], facts["Failures"], facts["Held"]) == ("5 verdicts", "1 verdict", "1 stream")


def test_no_more_back_tests_run_at_once_than_a_machine_bears(
    alice: Client, guard: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamviz.dashboard.views.backtests.subprocess.Popen", lambda *_, **__: None)
    for _ in range(MOST_AT_ONCE + 1):
        answer = alice.post("/policies/guard/back-tests/", {"version": 1, "streams": 10}, follow=True)
    assert f"{MOST_AT_ONCE} back-tests are running" in text(answer)
    assert Backtest.objects.count() == MOST_AT_ONCE
    Backtest.objects.update(created_at=timezone.now() - STARTING)
    alice.post("/policies/guard/back-tests/", {"version": 1, "streams": 10})
    assert Backtest.objects.count() == MOST_AT_ONCE + 1, "those whose process never came up do not count"


@pytest.mark.parametrize("path", ["", "1/cancel/"])
def test_a_back_test_is_for_those_alone_who_may_see_what_it_finds(cast: Cast, guard: Policy, path: str) -> None:
    Backtest.objects.create(pk=1, policy=guard, **guard.fields())
    User.objects.get(username="charlie").user_permissions.add(Permission.objects.get(codename="change_policy"))
    assert cast["charlie"].post(f"/policies/guard/back-tests/{path}", {"version": 1, "streams": 0}).status_code == 403


def test_a_back_test_is_cancelled(cast: Cast, guard: Policy) -> None:
    job = Backtest.objects.create(policy=guard, **guard.fields())
    path = f"/policies/guard/back-tests/{job.pk}/cancel/"
    assert cast["bob"].post(path).status_code == 403
    assert cast["alice"].post(path).status_code == 302
    job.refresh_from_db()
    assert job.state == "cancelled"
    run_job(job)
    cancel(job)
    job.refresh_from_db()
    assert (job.state, job.figures) == ("cancelled", {})


def test_a_back_test_whose_process_is_gone_has_failed(alice: Client, guard: Policy) -> None:
    job = Backtest.objects.create(policy=guard, state="running", **guard.fields())
    page = text(alice.get(f"/policies/guard/back-tests/{job.pk}/"))
    assert "Its process ended before it was done." in page
    assert "hx-get" not in page.split('id="backtest"')[1]
    waiting = Backtest.objects.create(policy=guard, **guard.fields())
    assert "waiting" in text(alice.get(f"/policies/guard/back-tests/{waiting.pk}/"))
    Backtest.objects.filter(pk=waiting.pk).update(created_at=timezone.now() - STARTING)
    assert "failed" in text(alice.get(f"/policies/guard/back-tests/{waiting.pk}/"))
