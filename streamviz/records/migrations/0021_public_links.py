import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.db.models import DO_NOTHING, SET_NULL, Q


def _of(model: str) -> models.ForeignKey:
    return models.ForeignKey(model, null=True, on_delete=DO_NOTHING, db_constraint=False, related_name="+")


class Migration(migrations.Migration):
    dependencies = [("records", "0020_session_name"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            "PublicLink",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=SET_NULL, related_name="+"),
                ),
                ("session", _of("records.session")),
                ("stream", _of("records.stream")),
            ],
            options={
                "ordering": ["-created_at"],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(session=None, stream__isnull=False) | Q(stream=None, session__isnull=False),
                        name="public_link_of_one",
                    )
                ],
            },
        ),
    ]
