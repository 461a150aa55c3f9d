"""Policies, their versions and back-tests."""

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
                help_text="Model names it applies to, with * and ?, comma-separated.",
                max_length=500,
                verbose_name="models",
            ),
        ),
        (
            "keys_scope",
            models.CharField(
                blank=True,
                help_text="Names of API keys it applies to, with * and ?, comma-separated.",
                max_length=500,
                verbose_name="keys",
            ),
        ),
        (
            "kinds_scope",
            models.CharField(
                blank=True,
                help_text="The kinds of block it applies to, comma-separated.",
                max_length=200,
                verbose_name="kinds of block",
            ),
        ),
        (
            "tools_scope",
            models.CharField(
                blank=True,
                help_text="Names of tools it applies to, with * and ?, comma-separated.",
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
        options={
            "ordering": ["-number"],
            "constraints": [models.UniqueConstraint(fields=("policy", "number"), name="policy_version_number")],
        },
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
]
