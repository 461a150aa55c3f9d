"""The cost of one more session does not grow with their number."""

import re

from tests.records.conftest import Query

_MORE = """
INSERT INTO records_session (id, label, name, started_at, last_at, is_starred, note)
SELECT gen_random_uuid(), %s, '', now(), now(), false, '' FROM generate_series(1, %s)
"""


def test_a_session_called_as_many_others_is_stored_as_soon_as_any(query: Query) -> None:
    for label in ("Summarize this e-mail.", ""):
        query(_MORE, label, 20_000)
        read = " ".join(row[0] for row in query(f"EXPLAIN (ANALYZE, BUFFERS) {_MORE}", label, 100))
        [pages] = re.findall(r"shared hit=(\d+)", read)[:1]
        assert int(pages) < 100 * 40
