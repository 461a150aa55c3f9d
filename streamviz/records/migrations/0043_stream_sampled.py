"""What figures of very many streams are estimated from has all that is counted and filtered by beside it: the sample is
read from its index alone. Streams that cost much are found by what they cost."""

import django.db.models
from django.db import migrations

from streamviz.records.migrations import _indexes

_ALL = """(requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, input_tokens, output_tokens, cache_read_tokens,
    cost, is_estimated, upstream_first_at, client_first_at, ended_at, itl_p50_us
)"""
_SAMPLED = f"{_ALL} WHERE get_byte(uuid_send(id), 15) < 16"
_LESS = f"{_ALL} WHERE get_byte(uuid_send(id), 15) < 1"
_BEFORE = """(requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, output_tokens, upstream_first_at, client_first_at,
    ended_at, itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 16"""
_COSTLY = "(cost, requested_at) WHERE cost >= 0.05"


class Migration(migrations.Migration):
    # Nobody waits for an index of all that there is.
    atomic = False
    dependencies = [("records", "0042_policy_samples")]

    operations = [
        migrations.RunPython(
            _indexes.add("stream_sampled", "records_stream", _SAMPLED), _indexes.drop("stream_sampled")
        ),
        migrations.RunPython(
            _indexes.add("stream_sampled_less", "records_stream", _LESS), _indexes.drop("stream_sampled_less")
        ),
        migrations.RunPython(_indexes.drop("stream_sample"), _indexes.add("stream_sample", "records_stream", _BEFORE)),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunPython(
                    _indexes.add("stream_costly", "records_stream", _COSTLY), _indexes.drop("stream_costly")
                )
            ],
            state_operations=[
                migrations.AddIndex(
                    model_name="stream",
                    index=django.db.models.Index(
                        fields=["cost", "requested_at"],
                        condition=django.db.models.Q(cost__gte=0.05),
                        name="stream_costly",
                    ),
                )
            ],
        ),
    ]
