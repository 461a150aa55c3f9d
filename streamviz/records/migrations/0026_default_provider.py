from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("records", "0025_saved_views")]

    operations = [
        migrations.AddField(
            "apikey",
            "default_provider",
            models.CharField(
                max_length=200,
                blank=True,
                default="",
                db_default="",
                help_text="Provider or route for calls to other endpoints (files, images, …) that do not name one.",
            ),
        ),
    ]
