import socket

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from streamviz.faults import Fault
from streamviz.ops import checks
from tests.services import free_port


def test_a_free_port_is_fine() -> None:
    checks.require_free_port("127.0.0.1", free_port(), "PORT")


def test_a_port_in_use_is_a_fault() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(Fault, match="is in use by another program"):
        checks.require_free_port("127.0.0.1", other.getsockname()[1], "PORT")


@pytest.mark.parametrize("host", ["no-such-host.invalid", "203.0.113.9"])
def test_an_address_of_another_machine_is_a_fault(host: str) -> None:
    with pytest.raises(Fault, match=host):
        checks.require_free_port(host, free_port(), "PORT")


@pytest.mark.django_db
@pytest.mark.parametrize(("password", "is_fine"), [(None, False), ("long and random", True)])
def test_a_public_server_needs_an_administrators_password(
    settings: Settings, password: str | None, is_fine: bool
) -> None:
    settings.PUBLIC, settings.HOST = True, "0.0.0.0"
    User.objects.create_user("bob", password="of no use here")
    User.objects.create_superuser("alice", password=password)
    if is_fine:
        checks.require_password_if_public()
    else:
        with pytest.raises(Fault, match="no administrator has a password"):
            checks.require_password_if_public()
