"""Sessions know whether the ids of their streams tell when these were requested: if so, only the partitions of a
session's time are looked into for them."""

from django.db import migrations, models

# Index stream_newest, from end to end.
NOT_DATED = """
UPDATE records_session SET is_dated = false WHERE id IN (
    SELECT session_id FROM records_stream
    WHERE id < streamviz_first_id(requested_at - interval '1 day')
        OR id >= streamviz_first_id(requested_at + interval '1 day')
)
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0037_days_of_streams")]

    operations = [
        migrations.AddField(
            "session",
            "is_dated",
            models.BooleanField(
                db_default=True,
                default=False,
                help_text="The ids of its streams tell when they were requested, to a day: those of other days are not"
                " its.",
            ),
        ),
        migrations.RunSQL(NOT_DATED, migrations.RunSQL.noop),
    ]
