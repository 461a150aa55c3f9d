"""Mistyped arguments: `--days` of the commands that look back, and names of files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from streamviz.ops.days import since
from tests.records.history import make_policy

NO_DATES = ["1000000", "inf", "nan", "-1"]


def test_so_many_days_back_are_a_moment() -> None:
    then = since(2.5)
    assert then is not None
    assert abs(datetime.now(UTC) - timedelta(days=2.5) - then) < timedelta(minutes=1)
    assert since(None) is None


def test_the_last_day_of_none_is_now() -> None:
    assert since(0) is not None


@pytest.mark.parametrize("days", NO_DATES)
@pytest.mark.parametrize("command", ["export", "verify"])
def test_what_reaches_no_date_is_refused_in_words(command: str, days: str) -> None:
    with pytest.raises(CommandError, match=rf"--days takes a number of days, .*, not {days}\.$"):
        call_command(command, f"--days={days}")


@pytest.mark.django_db
def test_a_back_test_refuses_days_that_reach_no_date() -> None:
    make_policy()
    with pytest.raises(CommandError, match="--days takes a number of days"):
        call_command("backtest", "guard", "--days=1000000")


@pytest.mark.django_db
@pytest.mark.parametrize("written", [None, "[]", "{"])
def test_parameters_that_are_none_are_refused_in_words(tmp_path: Path, written: str | None) -> None:
    make_policy()
    path = tmp_path / "draft.json"
    if written is not None:
        path.write_text(written)
    with pytest.raises(CommandError, match=r"draft\.json: "):
        call_command("backtest", "guard", f"--parameters={path}")


def test_a_file_that_cannot_be_read_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no-file: No such file or directory\.$"):
        call_command("import", f"{tmp_path}/no-file")


@pytest.mark.django_db
def test_a_file_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no-folder/file: No such file or directory"):
        call_command("export", "--days=1", f"--output={tmp_path}/no-folder/file")
