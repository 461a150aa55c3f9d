"""Figures of very many verdicts and holds are estimated from those of one stream in four, or fewer of those."""

from django.db import migrations

from streamviz.records.migrations import _indexes

_BYTE = "get_byte(uuid_send(stream_id), 15)"


class Migration(migrations.Migration):
    # Nobody waits for an index of all that there is.
    atomic = False
    dependencies = [("records", "0041_key_owner")]

    operations = [
        migrations.RunPython(
            _indexes.add("verdict_sample", "records_verdict", f"(({_BYTE}), at) WHERE {_BYTE} < 64"),
            _indexes.drop("verdict_sample"),
        ),
        migrations.RunPython(
            _indexes.add(
                "held_sample", "records_block", f"(({_BYTE}), held_at) WHERE held_at IS NOT NULL AND {_BYTE} < 64"
            ),
            _indexes.drop("held_sample"),
        ),
    ]
