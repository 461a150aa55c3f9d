from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("records", "0018_settle_moved")]

    operations = [
        migrations.AddField(
            "stream",
            "left_out",
            models.TextField(
                blank=True,
                default="",
                help_text="What of its request its provider could not take, or of its answer the client's format.",
            ),
        ),
    ]
