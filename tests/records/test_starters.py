"""The policies of a new installation."""

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from streamviz.records.migrations import _starters
from streamviz.records.models import Policy


@pytest.mark.django_db
def test_a_new_installation_begins_with_them_switched_off() -> None:
    Policy.objects.all().delete()
    _starters.add(MigrationLoader(connection).project_state().apps, None)
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
