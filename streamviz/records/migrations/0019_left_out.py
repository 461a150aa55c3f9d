from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("records", "0018_settle_moved")]

    operations = [
        migrations.AddField(
            "stream",
            "left_out",
            models.TextField(
                blank=True, default="", help_text="What of its request, or of its answer, had no place where that went."
            ),
        ),
    ]
