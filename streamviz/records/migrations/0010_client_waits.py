"""When a stream's client did not read is kept, so that its stalls have the right cause in history too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("records", "0009_search_and_indexes")]

    operations = [
        migrations.AddField(
            model_name="stream",
            name="client_waits",
            field=models.JSONField(
                help_text="From when to when its client did not take what it was sent, in µs since the epoch.",
                null=True,
            ),
        ),
    ]
