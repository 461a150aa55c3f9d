"""The tables of what an operator sets up, and of what streamviz notes of itself."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import streamviz.policies


def _rule_fields():
    """What a policy, each version of it and a backtest have in common."""
    return [
        ("kind", models.CharField(choices=streamviz.policies.kinds, max_length=50)),
        ("parameters", models.JSONField(blank=True, default=dict)),
        (
            "mode",
            models.CharField(
                choices=[("off", "off"), ("shadow", "shadow"), ("enforce", "enforce")], default="off", max_length=10
            ),
        ),
        ("order", models.PositiveIntegerField(default=100, help_text="Policies run in this order, the lowest first.")),
        (
            "models_scope",
            models.CharField(
                blank=True,
                help_text="Model names it applies to, with * and ?, comma separated.",
                max_length=500,
                verbose_name="models",
            ),
        ),
        (
            "keys_scope",
            models.CharField(
                blank=True,
                help_text="Names of API keys it applies to, with * and ?, comma separated.",
                max_length=500,
                verbose_name="keys",
            ),
        ),
        (
            "kinds_scope",
            models.CharField(
                blank=True,
                help_text="The kinds of block it applies to, comma separated.",
                max_length=200,
                verbose_name="kinds of block",
            ),
        ),
        (
            "tools_scope",
            models.CharField(
                blank=True,
                help_text="Names of tools it applies to, with * and ?, comma separated.",
                max_length=500,
                verbose_name="tools",
            ),
        ),
        (
            "fail_open",
            models.BooleanField(default=False, help_text="Allow if the policy fails or times out. If off, it denies."),
        ),
        (
            "time_limit",
            models.FloatField(
                default=30.0,
                help_text="How long it may take to answer, in seconds.",
                validators=[
                    django.core.validators.MinValueValidator(0.1),
                    django.core.validators.MaxValueValidator(600),
                ],
            ),
        ),
        (
            "by_hand",
            models.CharField(
                blank=True,
                choices=[
                    ("", "no"),
                    ("deny", "yes; denied when nobody answers"),
                    ("allow", "yes; allowed when nobody answers"),
                ],
                default="",
                help_text="Whether a person has the last word on what it would deny.",
                max_length=10,
            ),
        ),
        (
            "by_hand_seconds",
            models.FloatField(
                default=120,
                help_text="How long a person has, in seconds.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(3600),
                ],
            ),
        ),
    ]


TABLES = [
    migrations.CreateModel(
        name="Policy",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            *_rule_fields(),
            ("name", models.SlugField(max_length=60, unique=True)),
            ("version", models.PositiveIntegerField(default=0, editable=False)),
        ],
        options={"verbose_name_plural": "policies", "ordering": ["order", "name"]},
    ),
    migrations.CreateModel(
        name="RetentionRun",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("started_at", models.DateTimeField()),
            ("ended_at", models.DateTimeField(null=True)),
            ("freed", models.JSONField(default=list)),
        ],
        options={"ordering": ["-started_at"]},
    ),
    migrations.CreateModel(
        name="Route",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("name", models.CharField(help_text="The model name that clients ask for.", max_length=200, unique=True)),
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
        ],
        options={"ordering": ["name"]},
    ),
    migrations.CreateModel(
        name="SignInAttempt",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("account", models.CharField(db_index=True, max_length=64)),
            ("address", models.CharField(db_index=True, max_length=50)),
            ("at", models.DateTimeField(db_index=True)),
        ],
    ),
    migrations.CreateModel(
        name="Worker",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("started_at", models.DateTimeField()),
            ("policies", models.JSONField(default=dict)),
        ],
    ),
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
        ],
        options={"verbose_name": "API key", "ordering": ["-created_at"]},
    ),
    migrations.CreateModel(
        name="Backtest",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            *_rule_fields(),
            ("streams", models.PositiveIntegerField(default=1000)),
            ("since", models.DateTimeField(null=True)),
            (
                "state",
                models.CharField(
                    choices=[
                        ("waiting", "Waiting"),
                        ("running", "Running"),
                        ("done", "Done"),
                        ("cancelled", "Cancelled"),
                        ("failed", "Failed"),
                    ],
                    default="waiting",
                    max_length=10,
                ),
            ),
            ("total", models.PositiveIntegerField(default=0)),
            ("figures", models.JSONField(default=dict)),
            ("examples", models.JSONField(default=list)),
            ("error", models.TextField(blank=True)),
            ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ("ended_at", models.DateTimeField(null=True)),
            (
                "created_by",
                models.ForeignKey(
                    null=True,
                    on_delete=django.db.models.deletion.SET_NULL,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
            (
                "policy",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="backtests", to="records.policy"
                ),
            ),
        ],
        options={"ordering": ["-pk"]},
    ),
    migrations.CreateModel(
        name="PolicyVersion",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            *_rule_fields(),
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
                "policy",
                models.ForeignKey(
                    on_delete=django.db.models.deletion.CASCADE, related_name="versions", to="records.policy"
                ),
            ),
        ],
        options={"ordering": ["-number"]},
    ),
    migrations.AddConstraint(
        model_name="policyversion",
        constraint=models.UniqueConstraint(fields=("policy", "number"), name="policy_version_number"),
    ),
]
