"""Sessions are found by the beginnings of their labels and names: a hash index went through all that have the same, or
none, for each new one."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Left


class Migration(migrations.Migration):
    # Nobody waits for an index of all that there is.
    atomic = False
    dependencies = [("records", "0043_stream_sampled")]

    operations = [
        AddIndexConcurrently(
            "session", models.Index(Left("label", 100), condition=~models.Q(label=""), name="session_of_label")
        ),
        AddIndexConcurrently(
            "session", models.Index(Left("name", 100), condition=~models.Q(name=""), name="session_of_name")
        ),
        RemoveIndexConcurrently("session", "session_label"),
        RemoveIndexConcurrently("session", "session_name"),
    ]
