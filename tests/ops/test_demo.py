"""The demonstration's key and policies."""

import pytest

from streamviz.ops import demo
from streamviz.records.models import ApiKey, Policy
from streamviz.records.models.access import digest


@pytest.mark.django_db
def test_keys_of_earlier_demonstrations_keep_their_streams() -> None:
    ApiKey.objects.issue("demo agent of bob")
    secrets = [demo.prepare() for _ in range(3)]
    keys = [ApiKey.objects.get(digest=digest(secret)) for secret in secrets]
    assert [key.name for key in keys] == ["demo agent", "demo agent 2", "demo agent 3"]
    assert [key.is_revoked for key in keys] == [True, True, False]
    assert not ApiKey.objects.get(name="demo agent of bob").is_revoked


@pytest.mark.django_db
def test_a_key_of_a_demonstration_may_be_renamed() -> None:
    for _ in range(3):
        demo.prepare()
    ApiKey.objects.filter(name="demo agent 2").update(name="recorded for the docs")
    assert ApiKey.objects.get(digest=digest(demo.prepare())).name == "demo agent 2"


@pytest.mark.django_db
def test_a_demonstration_goes_without_a_policy_that_was_deleted() -> None:
    Policy.objects.all().delete()
    demo.prepare()
    assert list(Policy.objects.values_list("name", flat=True)) == ["ask-before-push"]
