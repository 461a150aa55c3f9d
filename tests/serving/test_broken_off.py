"""What the log says of answers that could not be given, or not to their end."""

import logging

import pytest
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, ProgrammingError

from streamviz.records.archive.bucket import ChunksAway
from streamviz.records.exporting import DeletedMeanwhile


@pytest.mark.parametrize(
    ("error", "level", "lines"), [(DeletedMeanwhile("it was deleted"), "WARNING", 1), (KeyError("it"), "ERROR", 2)]
)
def test_a_download_that_had_to_break_off_is_a_warning_without_a_traceback(
    caplog: pytest.LogCaptureFixture, error: Exception, level: str, lines: int
) -> None:
    logging.getLogger("daphne.server").error("Exception inside application: %s", error, exc_info=error)
    [record] = caplog.records
    assert record.levelname == level
    assert len(logging.Formatter().format(record).splitlines()) == lines


@pytest.mark.parametrize(
    ("error", "level", "line"),
    [
        (ChunksAway("the storage is away"), "WARNING", "Service Unavailable: /x/%s/: the storage is away"),
        (OperationalError("connection refused"), "WARNING", "Service Unavailable: /x/%s/: connection refused"),
        (PermissionDenied(), "WARNING", "Service Unavailable: /x/%s/"),
        (ProgrammingError("syntax error"), "ERROR", "Service Unavailable: /x/%s/"),
    ],
)
def test_a_page_that_cannot_be_shown_through_no_fault_of_ours_is_a_warning_that_names_the_cause(
    caplog: pytest.LogCaptureFixture, error: Exception, level: str, line: str
) -> None:
    logging.getLogger("django.request").error("%s: %s", "Service Unavailable", "/x/%s/", exc_info=error)
    [record] = caplog.records
    first, *traceback = logging.Formatter().format(record).splitlines()
    assert (record.levelname, first) == (level, line)
    assert bool(traceback) is (level == "ERROR")
