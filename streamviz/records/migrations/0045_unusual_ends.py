"""Streams that ended in an unusual way are found by that: nothing told the few of them from the million beside."""

import django.db.models
from django.db import migrations

from streamviz.records.migrations import _indexes

_USUAL = ("", "stop", "end_turn", "tool_calls", "tool_use", "completed", "STOP")
_UNUSUAL = f"(requested_at DESC, id DESC) WHERE NOT finish_reason IN {_USUAL}"


class Migration(migrations.Migration):
    # Nobody waits for an index of all that there is.
    atomic = False
    dependencies = [("records", "0044_session_beginnings")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunPython(
                    _indexes.add("stream_unusual_end", "records_stream", _UNUSUAL), _indexes.drop("stream_unusual_end")
                )
            ],
            state_operations=[
                migrations.AddIndex(
                    model_name="stream",
                    index=django.db.models.Index(
                        fields=["-requested_at", "-id"],
                        condition=~django.db.models.Q(finish_reason__in=_USUAL),
                        name="stream_unusual_end",
                    ),
                )
            ],
        )
    ]
