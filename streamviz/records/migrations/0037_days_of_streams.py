"""Streams, blocks, verdicts and what else belongs to a stream lie in partitions by time, as chunks do.

Nobody else refers to them in the database any more: what is dropped a day at a time cannot be asked who refers to it.
"""

from collections.abc import Callable

from django.db import migrations, models
from django.db.models import CASCADE, PROTECT, SET_NULL

from streamviz.records.migrations import _days


def _key(*fields: str) -> models.CompositePrimaryKey:
    return models.CompositePrimaryKey(*fields, blank=True, editable=False, primary_key=True, serialize=False)


def _of(to: str, name: str, deleting: Callable[..., None] = CASCADE, *, is_null: bool = False) -> models.ForeignKey:
    return models.ForeignKey(
        to, null=is_null, db_constraint=False, db_index=False, on_delete=deleting, related_name=name
    )


class Migration(migrations.Migration):
    # All is locked for its last step alone, which is a transaction.
    atomic = False
    dependencies = [("records", "0036_archive")]

    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(_days.partition)],
            [
                migrations.RemoveField("block", "id"),
                migrations.RemoveField("verdict", "id"),
                migrations.AddField("block", "pk", _key("stream_id", "ordinal")),
                migrations.AddField("verdict", "pk", _key("stream_id", "number")),
                migrations.AlterField("block", "stream", _of("records.stream", "blocks")),
                migrations.AlterField("stream", "key", _of("records.apikey", "streams", SET_NULL, is_null=True)),
                migrations.AlterField("stream", "session", _of("records.session", "streams")),
                migrations.AlterField("verdict", "policy_version", _of("records.policyversion", "verdicts", PROTECT)),
                migrations.AlterField("verdict", "stream", _of("records.stream", "verdicts")),
            ],
        ),
    ]
