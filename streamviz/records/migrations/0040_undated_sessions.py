"""Which sessions of before have streams whose ids do not tell when they were requested, as imported ones may.

By itself, as it reads all streams: adding the column keeps everybody from the sessions for as long as its transaction
takes.
"""

from django.db import migrations

# Index stream_newest, from end to end.
NOT_DATED = """
UPDATE records_session SET is_dated = false WHERE id IN (
    SELECT session_id FROM records_stream
    WHERE id < streamviz_first_id(requested_at - interval '1 day')
        OR id >= streamviz_first_id(requested_at + interval '1 day')
)
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0039_archived_length")]

    operations = [migrations.RunSQL(NOT_DATED, migrations.RunSQL.noop)]
