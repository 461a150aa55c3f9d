"""Routes name what answers their calls, and each of their changes is a version; streams that calls of a run became."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import streamviz.executors.registry

FIRST_VERSIONS = """
INSERT INTO records_routeversion
    (route_id, number, target, base_url, credential, executor, parameters, changed_at, reason)
SELECT id, 1, target, base_url, credential, executor, parameters, now(), '' FROM records_route;
UPDATE records_route SET version = 1;
"""


def _executor() -> models.CharField:
    return models.CharField(
        choices=streamviz.executors.registry.names,
        default="passthrough",
        db_default="passthrough",
        help_text="What answers its calls.",
        max_length=50,
    )


def _parameters() -> models.JSONField:
    return models.JSONField(
        blank=True,
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        help_text="The executor's; none means its defaults.",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("records", "0032_request_headers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            "apikey",
            "may_choose_executor",
            models.BooleanField(
                db_default=False,
                default=False,
                help_text="Its requests may say what answers them (x-streamviz-executor), whatever their route says.",
            ),
        ),
        migrations.AddField("route", "executor", _executor()),
        migrations.AddField("route", "parameters", _parameters()),
        migrations.AddField("route", "version", models.PositiveIntegerField(default=0, db_default=0, editable=False)),
        migrations.AddField(
            "stream",
            "executor",
            models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="What answered it with calls of its own, which makes it a run.",
            ),
        ),
        migrations.AddField(
            "stream",
            "part",
            models.TextField(blank=True, db_default="", default="", help_text="What a call of a run was for."),
        ),
        migrations.AlterField(
            "stream",
            "relation",
            models.CharField(
                blank=True,
                choices=[
                    ("turn", "Turn"),
                    ("retry", "Retry"),
                    ("fork", "Fork"),
                    ("subagent", "Subagent"),
                    ("step", "Step"),
                ],
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            "RouteVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "target",
                    models.CharField(
                        help_text="The model as LiteLLM names it, such as openai/gpt-4.1.", max_length=200
                    ),
                ),
                (
                    "base_url",
                    models.CharField(
                        blank=True,
                        help_text="Where it is served, if not at its provider's.",
                        max_length=500,
                        verbose_name="base URL",
                    ),
                ),
                (
                    "credential",
                    models.CharField(
                        blank=True, help_text="The environment variable that holds the credential.", max_length=100
                    ),
                ),
                ("executor", _executor()),
                ("parameters", _parameters()),
                ("number", models.PositiveIntegerField()),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("reason", models.CharField(blank=True, max_length=500)),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "route",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="versions", to="records.route"
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "constraints": [models.UniqueConstraint(fields=["route", "number"], name="route_version_number")],
            },
        ),
        migrations.RunSQL(FIRST_VERSIONS, migrations.RunSQL.noop),
    ]
