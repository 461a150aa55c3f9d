"""Streams know all names of the model that they call."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("records", "0052_first_of_unique_ones")]

    operations = [
        migrations.AddField(
            model_name="stream",
            name="other_names",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(),
                blank=True,
                db_default=[],
                default=list,
                help_text="Names of its model that neither its client nor its provider uses.",
                size=None,
            ),
        ),
    ]
