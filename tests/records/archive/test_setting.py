"""ARCHIVE_URL and the settings that go with it."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from streamviz.records.archive.setting import archive
from streamviz.records.rules import Archive

URL = {"ARCHIVE_URL": "s3://records"}


def made(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], chunk_days: int = 14) -> Archive | None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return archive(chunk_days)


def test_there_is_no_archive_unless_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert made(monkeypatch, {}) is None


def test_a_bucket_is_enough_for_an_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    assert made(monkeypatch, URL) == Archive("records", "", "", "us-east-1", 3)


def test_all_settings_of_the_archive_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = {"ENDPOINT": "http://minio:9000/", "REGION": "eu-1", "KEY_ID": "AK", "SECRET": "hush", "AFTER_DAYS": "30"}
    environment = {
        "ARCHIVE_URL": "s3://records/team/one/",
        **{f"ARCHIVE_{name}": each for name, each in beside.items()},
    }
    found = made(monkeypatch, environment, chunk_days=0)
    assert found == Archive("records", "team/one/", "http://minio:9000", "eu-1", 30, "AK", "hush")
    assert "hush" not in repr(found)


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({"ARCHIVE_URL": "https://records.example"}, "ARCHIVE_URL must look like s3://BUCKET"),
        ({"ARCHIVE_URL": "s3://Records"}, "ARCHIVE_URL must look like s3://BUCKET"),
        ({"ARCHIVE_ENDPOINT": "http://minio:9000"}, "ARCHIVE_ENDPOINT is set, but ARCHIVE_URL is not"),
        ({"ARCHIVE_SECRET": "hush-hush"}, "ARCHIVE_SECRET is set, but ARCHIVE_URL is not"),
        (URL | {"ARCHIVE_SECRET": "hush-hush"}, "set both, or neither"),
        (URL | {"ARCHIVE_KEY_ID": "AK"}, "set both, or neither"),
        (URL | {"ARCHIVE_ENDPOINT": "http://ann:hush-hush@minio"}, "ARCHIVE_ENDPOINT must look like"),
        (URL | {"ARCHIVE_ENDPOINT": "minio:9000"}, "ARCHIVE_ENDPOINT must look like"),
        (URL | {"ARCHIVE_AFTER_DAYS": "0"}, "ARCHIVE_AFTER_DAYS must be 1 or more"),
        (URL | {"ARCHIVE_AFTER_DAYS": "14"}, "less than RETAIN_CHUNK_DAYS, 14"),
        (URL | {"ARCHIVE_AFTER_DAYS": "soon"}, "ARCHIVE_AFTER_DAYS must be a whole number"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], line: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=line) as raised:
        made(monkeypatch, environment)
    assert "hush" not in str(raised.value)
