import pytest
from django.core.exceptions import ImproperlyConfigured

from streamviz.records import database_settings


def test_a_database_url_becomes_djangos_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann:p%40ss@db.example:5433/records?sslmode=require")
    assert database_settings.postgres("DATABASE_URL") == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "records",
        "USER": "ann",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "5433",
        "OPTIONS": {
            "connect_timeout": 5,
            "keepalives_idle": 15,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 30_000,
            "sslmode": "require",
        },
    }


def test_how_long_a_database_may_be_silent_is_as_its_url_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann@db/records?tcp_user_timeout=0&keepalives_idle=60")
    database = database_settings.postgres("DATABASE_URL", silence=2)
    assert database
    assert (database["OPTIONS"]["tcp_user_timeout"], database["OPTIONS"]["keepalives_idle"]) == ("0", "60")


def test_a_database_url_can_name_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann@/records?host=/run/postgresql")
    database = database_settings.postgres("DATABASE_URL")
    assert database
    assert (database["HOST"], database["USER"], database["NAME"]) == ("/run/postgresql", "ann", "records")


@pytest.mark.parametrize(
    "url",
    [
        *("mysql://ann:hunter2@db/records", "postgresql://ann:hunter2@db", "postgresql://ann:hunter2@db/r?x=%zz"),
        "postgresql://ann:hunter2@db/records?connect_timeout=5s",
    ],
)
def test_a_broken_database_url_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL must look like") as refusal:
        database_settings.postgres("DATABASE_URL")
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        *("postgresql://ann:hid/den@db/records", "postgresql://ann:hid@den@db/records?x=@"),
        "postgresql://ann:h?id@den@db/records",
    ],
)
def test_a_password_of_which_a_part_would_count_as_the_place_is_not_told(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL, / must be written as %2F") as refusal:
        database_settings.postgres("DATABASE_URL")
    assert "den" not in str(refusal.value)


@pytest.mark.parametrize("url", ["postgresql://db/r?user=ann@b&password=c@d", "postgresql://ann:c?d@db/r?options=a@b"])
def test_a_mark_that_is_no_part_of_a_password_may_be_bare(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    database = database_settings.postgres("DATABASE_URL")
    assert database
    assert (database["HOST"], database["NAME"]) == ("db", "r")
