"""Policies, and the version that every change creates."""

import threading
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import connection

from streamviz.records.models import Policy


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def policy(db: None) -> Policy:
    """A policy in its first version."""
    policy = Policy(name="guard", kind="tool_rule", parameters={"names": ["run_shell"]})
    policy.save(reason="new")
    return policy


def test_the_first_version_of_a_policy_is_all_of_it(policy: Policy) -> None:
    version = policy.versions.get()
    assert (version.number, version.reason, version.changed_by) == (1, "new", None)
    assert version.fields() == policy.fields()
    assert Policy.objects.get(pk=policy.pk).version == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mode", "enforce"),
        ("parameters", {"names": ["run_shell", "bash"]}),
        ("order", 5),
        ("models_scope", "gpt-*"),
        ("keys_scope", "ci-?"),
        ("fail_open", True),
    ],
)
def test_each_change_makes_a_version_with_who_and_why(policy: Policy, alice: User, field: str, value: object) -> None:
    setattr(policy, field, value)
    policy.save(by=alice, reason="because")
    newest, oldest = policy.versions.all()
    assert (newest.number, newest.changed_by, newest.reason) == (2, alice, "because")
    assert (newest.fields()[field], oldest.number) == (value, 1)
    assert oldest.fields()[field] != value
    assert Policy.objects.get(pk=policy.pk).version == 2


def test_no_version_comes_of_no_change(policy: Policy, alice: User) -> None:
    policy.save(by=alice, reason="only looking")
    Policy.objects.get(pk=policy.pk).save()
    assert policy.versions.get().reason == "new"
    assert policy.version == 1


def test_going_back_is_a_version_of_its_own(policy: Policy) -> None:
    for mode in ("enforce", "off"):
        policy.mode = mode
        policy.save()
    assert [(version.number, version.mode) for version in policy.versions.all()] == [
        (3, "off"),
        (2, "enforce"),
        (1, "off"),
    ]


def test_it_takes_the_next_number_even_where_old_versions_were_read_before(policy: Policy) -> None:
    early = Policy.objects.prefetch_related("versions").get(pk=policy.pk)
    policy.mode = "shadow"
    policy.save()
    early.mode = "enforce"
    early.save()
    assert [(version.number, version.mode) for version in policy.versions.all()][:2] == [(3, "enforce"), (2, "shadow")]


@pytest.fixture
def changes(transactional_db: None) -> Iterator[list[threading.Thread]]:
    """Ten people who change one policy at the same moment."""
    Policy(name="guard", kind="tool_rule").save()
    together = threading.Barrier(10)

    def change(order: int) -> None:
        policy = Policy.objects.prefetch_related("versions").get(name="guard")
        list(policy.versions.all())
        policy.order = order
        together.wait(120)
        policy.save(reason=f"order {order}")
        connection.close()

    yield [threading.Thread(target=change, args=[1000 + n]) for n in range(10)]


def test_changes_at_once_each_get_a_number_of_their_own(changes: list[threading.Thread]) -> None:
    for thread in changes:
        thread.start()
    for thread in changes:
        thread.join(60)
    policy = Policy.objects.get(name="guard")
    versions = list(policy.versions.all())
    assert [version.number for version in versions] == list(range(11, 0, -1))
    assert {version.order for version in versions} == {100, *range(1000, 1010)}
    assert (policy.version, policy.order) == (11, versions[0].order)


def test_it_refuses_a_kind_that_there_is_not(policy: Policy) -> None:
    policy.kind = "wishful_thinking"
    with pytest.raises(ValidationError) as raised:
        policy.full_clean()
    assert {"kind", "parameters"} & raised.value.message_dict.keys()


def test_it_refuses_parameters_that_its_kind_does_not_take(policy: Policy) -> None:
    policy.parameters = {"arguments": [{"pattern": "("}]}
    with pytest.raises(ValidationError) as raised:
        policy.full_clean()
    assert list(raised.value.message_dict) == ["parameters"]
