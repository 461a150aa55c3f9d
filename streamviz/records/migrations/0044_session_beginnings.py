"""Sessions are found by the beginnings of their labels and names: a hash index went through all that have the same, or
none, for each new one. Whether ids of all streams tell their times is known at once."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Left


class Migration(migrations.Migration):
    # Nobody waits for an index of all that there is.
    atomic = False
    dependencies = [("records", "0043_stream_sampled")]

    operations = [
        # A try that was given up has left some, of which one may be of no use.
        *(
            migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", migrations.RunSQL.noop)
            for name in ("session_of_label", "session_of_name", "session_undated")
        ),
        AddIndexConcurrently(
            "session", models.Index(Left("label", 100), condition=~models.Q(label=""), name="session_of_label")
        ),
        AddIndexConcurrently(
            "session", models.Index(Left("name", 100), condition=~models.Q(name=""), name="session_of_name")
        ),
        AddIndexConcurrently(
            "session", models.Index(fields=["id"], condition=models.Q(is_dated=False), name="session_undated")
        ),
        RemoveIndexConcurrently("session", "session_label"),
        RemoveIndexConcurrently("session", "session_name"),
    ]
