"""What the log says of answers that had to be broken off."""

import logging

import pytest

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
