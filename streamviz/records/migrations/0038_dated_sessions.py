"""Sessions know whether the ids of their streams tell when these were requested: if so, only the partitions of a
session's time are looked into for them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("records", "0037_days_of_streams")]

    operations = [
        migrations.AddField(
            "session",
            "is_dated",
            models.BooleanField(
                db_default=True,
                default=False,
                help_text="Its streams' ids begin with their requests' time: those of other days are not searched.",
            ),
        ),
    ]
