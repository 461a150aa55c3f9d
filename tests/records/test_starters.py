"""The policies that an installation begins with, and what becomes of older ones."""

from importlib import import_module

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from streamviz.records.models import Policy, Stream
from tests.records.history import day, store, story

renewal = import_module("streamviz.records.migrations.0013_usable_starters")


@pytest.fixture
def apps(db: None) -> object:
    return MigrationLoader(connection).project_state().apps


@pytest.fixture
def older(apps: object) -> object:
    """An installation with the older starters."""
    Policy.objects.all().delete()
    for name in ("0003_first_policy", "0008_starter_set"):
        import_module(f"streamviz.records.migrations.{name}").add(apps, None)
    return apps


def versions(name: str) -> list[tuple[int, str]]:
    return [(version.number, version.kind) for version in Policy.objects.get(name=name).versions.all()]


def test_a_new_installation_begins_with_them(older: object) -> None:
    renewal.renew(older, None)
    assert versions("shell-guard") == [(1, "shell_rule")]
    for policy in Policy.objects.all():
        policy.full_clean()
        assert (policy.mode, policy.versions.get().fields()) == ("off", policy.fields())


@pytest.fixture
def used(transactional_db: None, older: object) -> object:
    """One that has recorded something."""
    store(story(day(1)))
    assert Stream.objects.exists()
    return older


def test_one_that_is_in_use_gets_them_as_a_version_with_a_reason(used: object) -> None:
    renewal.renew(used, None)
    guard = Policy.objects.get(name="shell-guard")
    assert versions("shell-guard") == [(2, "shell_rule"), (1, "tool_rule")]
    assert (guard.version, guard.versions.first().reason) == (2, renewal.REASON)
    assert Policy.objects.get(name="secret-leak").parameters == renewal.SECRETS


def test_what_an_operator_has_changed_stays(used: object) -> None:
    guard = Policy.objects.get(name="shell-guard")
    guard.mode = "enforce"
    guard.save(by=User.objects.create_user("alice"), reason="It is time.")
    renewal.renew(used, None)
    assert versions("shell-guard") == [(2, "tool_rule"), (1, "tool_rule")]


def test_it_can_be_undone(used: object) -> None:
    renewal.renew(used, None)
    renewal.restore(used, None)
    assert versions("shell-guard")[0] == (3, "tool_rule")
