"""The index of the archive says what a part comes to, so that no more than that is unpacked."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("records", "0038_dated_sessions")]

    operations = [
        migrations.AddField(
            "archivedpart",
            "length",
            models.PositiveBigIntegerField(db_default=0, default=0, help_text="Bytes when unpacked; 0 if unknown."),
        ),
    ]
