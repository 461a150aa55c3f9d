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
                help_text="A provider or a route: where calls of other endpoints (files, images, …) go that name none.",
            ),
        ),
    ]
