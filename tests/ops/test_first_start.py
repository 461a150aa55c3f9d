"""The first API key, and where it goes."""

from pathlib import Path

import pytest

from streamviz.faults import Fault
from streamviz.ops.first_start import issue_first_key
from streamviz.records.models import ApiKey
from streamviz.records.models.access import digest

pytestmark = pytest.mark.django_db


def test_it_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "first_key"
    made = issue_first_key(file)
    assert made is not None
    assert ApiKey.objects.get().digest == digest(file.read_text().strip())
    assert issue_first_key(file) is None


def test_there_is_none_where_nobody_could_read_it(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="cannot be written to"):
        issue_first_key(tmp_path / "missing" / "first_key")
    assert not ApiKey.objects.exists()
