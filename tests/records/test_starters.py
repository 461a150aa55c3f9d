"""The policies of a new installation."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from streamviz.records.migrations import _starters
from streamviz.records.models import Policy
from tests.records.former import as_former
from tests.services import fresh_database


@pytest.mark.django_db
def test_a_new_installation_begins_with_them_switched_off() -> None:
    Policy.objects.all().delete()
    with connection.schema_editor() as editor:
        _starters.add(MigrationLoader(connection).project_state().apps, editor)
    assert {policy.name: policy.kind for policy in Policy.objects.all()} == {
        "shell-guard": "shell_rule",
        "secret-leak": "redact",
        "schema-check": "tool_schema",
        "injection-judge": "llm_judge",
    }
    for policy in Policy.objects.all():
        policy.full_clean()
        version = policy.versions.get()
        assert (policy.mode, version.number, version.fields()) == ("off", 1, policy.fields())


def test_they_are_in_the_database_that_is_migrated(
    postgres: dict[str, Any], django_db_setup: None, django_db_blocker: Any
) -> None:
    with fresh_database(postgres) as url, django_db_blocker.unblock(), as_former(url) as other:
        call_command("migrate", database=other.alias, verbosity=0)
        assert set(Policy.objects.using(other.alias).values_list("name", flat=True)) == set(_starters.STARTERS)
