"""A journal written by the code of commit 20421b6, and what that code made of it: `former/`. Workers may leave one
behind before an update, so it must be stored as it was then, whatever columns there are now."""

import json
import shutil
from pathlib import Path

from streamviz.records.journal import folder
from tests.records.conftest import Query
from tests.records.history import make_policy
from tests.records.support import move

FORMER = Path(__file__).parent / "former"
JOURNAL = "01a20607-277a-7b83-82ad-a886dec7da97"
# Referenced by the journal's entries.
VERSION, KEY = 7_000_001, 7_000_002
ORDER = {
    "session": "id",
    "stream": "id",
    "block": "stream_id, ordinal",
    "verdict": "stream_id, number",
    "upstreamrun": "stream_id, first_seq",
    "clientrun": "stream_id, first_frame",
}


def test_a_journal_of_before_is_stored_as_it_was_then(query: Query, tmp_path: Path) -> None:
    query("UPDATE records_policyversion SET id = %s WHERE id = %s", VERSION, make_policy())
    query(
        "INSERT INTO records_apikey (id, name, prefix, digest, created_at, models_scope)"
        " VALUES (%s, 'ours', 'sv-x', '00', now(), '')",
        KEY,
    )
    shutil.copytree(FORMER / JOURNAL, tmp_path / JOURNAL)
    (tmp_path / JOURNAL / folder.LOCK).touch()
    move(tmp_path)
    assert folder.journals(tmp_path) == []
    assert not (tmp_path / folder.DAMAGED).exists()
    for table, then in json.loads((FORMER / "record.json").read_text()).items():
        rows = query(f"SELECT to_jsonb(t) FROM records_{table} AS t ORDER BY {ORDER[table]}")
        now = [{name: row[name] for name in then[0]} for (row,) in rows]
        assert now == then, table
