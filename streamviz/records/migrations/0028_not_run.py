"""Where policies did not run is looked up among the few streams that have such a policy."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("records", "0027_annotations")]

    operations = [
        migrations.AddIndex(
            model_name="stream",
            index=models.Index(
                condition=models.Q(("not_run", []), _negated=True), fields=["requested_at"], name="stream_not_run"
            ),
        ),
    ]
