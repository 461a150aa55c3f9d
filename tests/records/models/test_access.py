"""API keys: created, recognized, revoked, and their secrets not stored."""

from collections.abc import Callable
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection

from streamviz.records.models import ApiKey, Route
from streamviz.records.models.access import digest

TEXTS = """
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = current_schema() AND data_type IN ('text', 'character varying', 'jsonb', 'json', 'bytea', 'ARRAY')
"""


def mentions(secret: str) -> list[tuple[str, str]]:
    """Every column of the database that contains the secret."""
    with connection.cursor() as cursor:
        cursor.execute(TEXTS)
        found = []
        for table, column in cursor.fetchall():
            cursor.execute(f'SELECT 1 FROM "{table}" WHERE position(%s in "{column}"::text) > 0 LIMIT 1', [secret])
            if cursor.fetchone():
                found.append((table, column))
        return found


def test_a_key_is_found_by_its_digest_alone(db: None) -> None:
    alice = User.objects.create_user("alice")
    key, secret = ApiKey.objects.issue("ci", by=alice)
    assert ApiKey.objects.get(digest=digest(secret)) == key
    assert (key.created_by, key.is_revoked, key.prefix) == (alice, False, secret[:8])


def test_the_sessions_of_a_key_are_no_other_keys_of_its_name(db: None) -> None:
    key, _ = ApiKey.objects.issue("ci")
    owner = key.owner
    key.name = "renamed"
    key.save()
    others = [ApiKey.objects.issue(name)[0].owner for name in ("ci", "other")]
    assert ApiKey.objects.get(name="renamed").owner == owner
    assert len({owner, *others, ""}) == 4


def test_the_secret_of_a_key_is_nowhere_in_the_database(db: None) -> None:
    key, secret = ApiKey.objects.issue("ci")
    assert mentions(secret) == []
    assert mentions(secret[8:]) == []
    assert mentions(key.prefix)  # so the search does find what is stored


def test_each_secret_is_new_and_long(db: None) -> None:
    secrets = {ApiKey.objects.issue(f"key {n}")[1] for n in range(20)}
    assert len(secrets) == 20
    assert all(secret.startswith("sv-") and len(secret) >= 43 for secret in secrets)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a, b", "not contain a comma"),
        *((f"a{each}b", "not contain a line break") for each in "\n\r\t\x1b\x7f\x9b\u2028\u202e\u2066"),
    ],
)
@pytest.mark.parametrize(
    "make", [partial(ApiKey, prefix="sv", digest="0"), partial(Route, target="openai/x")], ids=["key", "route"]
)
def test_a_name_that_no_list_can_have_is_only_kept(
    db: None, make: Callable[..., ApiKey | Route], name: str, why: str
) -> None:
    made = make(name=name)
    with pytest.raises(ValidationError, match=why):
        made.full_clean()
    made.save()
    made.full_clean()
    made.name = f"{name}c"
    with pytest.raises(ValidationError, match=why):
        made.full_clean()


def test_a_name_may_have_joiners(db: None) -> None:
    for name in ("\U0001f469\u200d\U0001f4bb", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"):
        ApiKey(name=name, prefix="sv", digest="0").full_clean()


def test_two_keys_cannot_have_one_name(db: None) -> None:
    ApiKey.objects.issue("ci")
    with pytest.raises(IntegrityError):
        ApiKey.objects.issue("ci")


def test_revoking_twice_keeps_the_first_time(db: None) -> None:
    key, _ = ApiKey.objects.issue("ci")
    key.revoke()
    first = key.revoked_at
    key.revoke()
    key.refresh_from_db()
    assert key.is_revoked
    assert key.revoked_at == first
