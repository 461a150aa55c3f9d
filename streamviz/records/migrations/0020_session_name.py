"""What a client calls its session, apart from what that is about."""

from django.contrib.postgres.indexes import HashIndex
from django.db import migrations, models

# A label was the client's name where it told one.
MOVE = """
UPDATE records_session AS session SET name = label, label = ''
WHERE EXISTS (SELECT FROM records_stream WHERE session_id = session.id AND is_named)
"""
SEARCH = """
DROP INDEX session_search;
CREATE INDEX session_search ON records_session
USING gin (to_tsvector('simple'::regconfig, streamviz_words(label || ' ' || name)));
"""
SEARCH_LABELS = """
DROP INDEX session_search;
CREATE INDEX session_search ON records_session USING gin (to_tsvector('simple'::regconfig, streamviz_words(label)));
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0019_left_out")]

    operations = [
        migrations.AddField("session", "name", models.TextField(default="", blank=True)),
        migrations.RunSQL(MOVE, migrations.RunSQL.noop),
        migrations.AddIndex("session", HashIndex(fields=["name"], name="session_name")),
        migrations.RunSQL(SEARCH, SEARCH_LABELS),
    ]
