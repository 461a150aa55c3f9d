"""The policy that an installation begins with, switched off: a guard for shell commands that destroy."""

from django.db import migrations
from django.utils import timezone

NAME = "shell-guard"
RULE = {
    "kind": "tool_rule",
    "parameters": {
        "names": ["run_shell", "shell", "bash", "execute_command", "run_command", "terminal"],
        "arguments": [
            {"pattern": r"\brm\s+(-\w+\s+)*-\w*[rR]\w*"},
            {"pattern": r"\b(mkfs|dd\s+if=|shutdown|reboot)\b"},
            {"pattern": r"\b(curl|wget)\b[^|]*\|\s*(sudo\s+)?(ba|z|da)?sh\b"},
        ],
    },
    "mode": "off",
    "order": 100,
    "models_scope": "",
    "keys_scope": "",
    "fail_open": False,
}


def add(apps, schema_editor):
    policy = apps.get_model("records", "Policy").objects.create(name=NAME, version=1, **RULE)
    apps.get_model("records", "PolicyVersion").objects.create(
        policy=policy, number=1, changed_at=timezone.now(), reason="Comes with streamviz.", **RULE
    )


def remove(apps, schema_editor):
    apps.get_model("records", "Policy").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [("records", "0002_views_triggers_storage")]

    operations = [migrations.RunPython(add, remove)]
