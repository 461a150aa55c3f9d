"""The starters as real agents can work with them: `shell-guard` parses commands, `secret-leak` leaves addresses alone.

Where an operator has changed one, its mode included, it stays as it is. An installation that has recorded nothing yet
begins with these.
"""

from django.db import migrations
from django.utils import timezone

REASON = "Comes with streamviz: shell commands are parsed, and only keys and tokens count as secrets."
OURS = ("Comes with streamviz.", REASON)
OLD_GUARD = {
    "names": ["run_shell", "shell", "bash", "execute_command", "run_command", "terminal"],
    "arguments": [
        {"pattern": r"\brm\s+(-\w+\s+)*-\w*[rR]\w*"},
        {"pattern": r"\b(mkfs|dd\s+if=|shutdown|reboot)\b"},
        {"pattern": r"\b(curl|wget)\b[^|]*\|\s*(sudo\s+)?(ba|z|da)?sh\b"},
    ],
}
SECRETS = {"find": ["api key", "private key", "web token"]}
# Name: the kind and parameters that it had, and those that it gets.
STARTERS = {
    "shell-guard": (("tool_rule", OLD_GUARD), ("shell_rule", {})),
    "secret-leak": (("redact", {}), ("redact", SECRETS)),
}
FIELDS = (
    "kind parameters mode order models_scope keys_scope kinds_scope tools_scope fail_open time_limit by_hand"
    " by_hand_seconds"
).split()


def renew(apps, schema_editor):
    for name, (old, new) in STARTERS.items():
        _change(apps, name, old, new)


def restore(apps, schema_editor):
    for name, (old, new) in STARTERS.items():
        _change(apps, name, new, old)


def _change(apps, name, old, new):
    """Give the policy `new` as a version of its own, where nothing but this has ever changed it."""
    policy = apps.get_model("records", "Policy").objects.filter(name=name).first()
    versions = apps.get_model("records", "PolicyVersion").objects.filter(policy=policy)
    if policy is None or (policy.kind, policy.parameters) != old or versions.exclude(reason__in=OURS).exists():
        return
    policy.kind, policy.parameters = new
    if not apps.get_model("records", "Stream").objects.exists():
        policy.save()
        versions.update(kind=policy.kind, parameters=policy.parameters)
        return
    policy.version += 1
    policy.save()
    fields = {field: getattr(policy, field) for field in FIELDS}
    versions.create(policy=policy, number=policy.version, changed_at=timezone.now(), reason=REASON, **fields)


class Migration(migrations.Migration):
    dependencies = [("records", "0012_days_with_rows")]

    operations = [migrations.RunPython(renew, restore)]
