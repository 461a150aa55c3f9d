"""Foreign keys that a unique constraint begins with need no index of their own."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Of policies, routes and saved views. Without Django's own change of the fields, which would check each key anew.
DROP = """
DROP INDEX IF EXISTS records_policyversion_policy_id_164e31ec;
DROP INDEX IF EXISTS records_routeversion_route_id_521f9d1c;
DROP INDEX IF EXISTS records_savedview_user_id_c371faf8;
"""


def _altered(model: str, name: str, to: str, related_name: str) -> migrations.AlterField:
    cascade = django.db.models.deletion.CASCADE
    field: models.ForeignKey[Any, Any] = models.ForeignKey(to, cascade, related_name=related_name, db_index=False)
    return migrations.AlterField(model, name, field)


class Migration(migrations.Migration):
    dependencies = [
        ("records", "0051_cancelled_calls"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(
            DROP,
            migrations.RunSQL.noop,
            state_operations=[
                _altered("policyversion", "policy", "records.policy", "versions"),
                _altered("routeversion", "route", "records.route", "versions"),
                _altered("savedview", "user", settings.AUTH_USER_MODEL, "saved_views"),
            ],
        )
    ]
