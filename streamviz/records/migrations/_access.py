"""Who may call, what answers them, and the MCP servers whose tools runs may use."""

import secrets

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import streamviz.executors.registry


def _route_fields():
    """What a route and each version of it have in common."""
    return [
        (
            "target",
            models.CharField(help_text="The model as LiteLLM names it, such as openai/gpt-4.1.", max_length=200),
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
        (
            "executor",
            models.CharField(
                choices=streamviz.executors.registry.names,
                default="passthrough",
                db_default="passthrough",
                help_text="What answers its calls.",
                max_length=50,
            ),
        ),
        (
            "parameters",
            models.JSONField(
                blank=True,
                default=dict,
                db_default=models.Value({}, models.JSONField()),
                help_text="The executor's; none means its defaults.",
            ),
        ),
    ]


TABLES = [
    migrations.CreateModel(
        name="ApiKey",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("name", models.CharField(max_length=100, unique=True)),
            ("prefix", models.CharField(editable=False, max_length=8)),
            ("digest", models.CharField(editable=False, max_length=64, unique=True)),
            ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ("revoked_at", models.DateTimeField(editable=False, null=True)),
            (
                "models_scope",
                models.CharField(
                    blank=True,
                    db_default="",
                    default="",
                    help_text="Models this key may call: comma-separated, * and ? are wildcards, empty means all.",
                    max_length=1000,
                    verbose_name="models",
                ),
            ),
            (
                "created_by",
                models.ForeignKey(
                    editable=False,
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "default_provider",
                models.CharField(
                    max_length=200,
                    blank=True,
                    default="",
                    db_default="",
                    help_text="Provider or route for calls to other endpoints (files, images, …) that do not name one.",
                ),
            ),
            (
                "may_choose_executor",
                models.BooleanField(
                    db_default=False,
                    default=False,
                    help_text="Its requests may say what answers them (x-streamviz-executor),"
                    " whatever their route says.",
                ),
            ),
            ("owner", models.CharField(default=secrets.token_hex, db_default="", max_length=100, editable=False)),
        ],
        options={"verbose_name": "API key", "ordering": ["-created_at"]},
    ),
    migrations.CreateModel(
        name="Route",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("name", models.CharField(help_text="The model name that clients ask for.", max_length=200, unique=True)),
            *_route_fields(),
            ("version", models.PositiveIntegerField(default=0, db_default=0, editable=False)),
        ],
        options={"ordering": ["name"]},
    ),
    migrations.CreateModel(
        name="RouteVersion",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            *_route_fields(),
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
    migrations.CreateModel(
        name="McpServer",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            (
                "name",
                models.CharField(
                    help_text="A tool of the server “files” is called mcp__files__ and its name.",
                    max_length=40,
                    unique=True,
                    validators=[
                        django.core.validators.RegexValidator(
                            "^[a-z0-9][a-z0-9_-]*$", "Lowercase letters, digits, - and _."
                        )
                    ],
                ),
            ),
            (
                "command",
                models.CharField(
                    blank=True,
                    help_text="A program and its arguments, which speaks MCP on its standard input.",
                    max_length=1000,
                ),
            ),
            (
                "url",
                models.CharField(
                    blank=True,
                    help_text="Or an address that speaks streamable HTTP.",
                    max_length=500,
                    verbose_name="URL",
                ),
            ),
            (
                "variables",
                models.CharField(
                    blank=True,
                    help_text="The environment variables that the program gets, comma-separated.",
                    max_length=500,
                ),
            ),
            (
                "credential",
                models.CharField(
                    blank=True,
                    help_text="The environment variable that the address gets as a bearer token.",
                    max_length=100,
                ),
            ),
            (
                "tools",
                models.CharField(
                    help_text="The tools that may be used, by the server's names for them, with * and ?,"
                    " comma-separated.",
                    max_length=1000,
                ),
            ),
            ("is_enabled", models.BooleanField(default=True, verbose_name="enabled")),
        ],
        options={"ordering": ["name"], "verbose_name": "MCP server"},
    ),
]
