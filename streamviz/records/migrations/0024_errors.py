"""Errors can be counted by what they say: quoted words, ids and numbers in them aside."""

from django.db import migrations

SAYS = r"""
CREATE FUNCTION streamviz_error(input text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(btrim(regexp_replace(numbers, '\s+', ' ', 'g')), 160)
    FROM regexp_replace(left(input, 1000), '"[^"]*"|''[^'' ]*''|`[^`]*`', '…', 'g') AS quoted,
        LATERAL regexp_replace(quoted, '\m(?=[a-z_-]*\d)[\w-]{12,}\M', '…', 'gi') AS ids,
        LATERAL regexp_replace(ids, '\d+([.,:]\d+)*', 'N', 'g') AS numbers
$$;
"""
# With what errors are counted by.
INDEX = """
CREATE INDEX stream_with_error ON records_stream (requested_at DESC, id DESC)
INCLUDE (requested_model, key_id) WHERE error <> ''
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0023_lint_notes")]

    operations = [
        migrations.RunSQL(SAYS, "DROP FUNCTION streamviz_error"),
        migrations.RunSQL(INDEX, "DROP INDEX stream_with_error"),
    ]
