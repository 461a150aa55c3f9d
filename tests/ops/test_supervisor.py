"""Where the supervisor says that all is."""

import pytest
from pytest_django import Settings

from streamviz.ops.supervisor import pages_url


@pytest.mark.parametrize(
    ("origins", "path", "url"),
    [
        ([], "", "http://127.0.0.1:8000"),
        ([], "/viz", "http://127.0.0.1:8000/viz"),
        (["https://viz.example", "https://other.example"], "", "https://viz.example"),
        (["https://*.example", "https://tools.example:8443"], "/viz", "https://tools.example:8443/viz"),
    ],
)
def test_a_sign_in_link_has_the_name_by_which_browsers_come(
    settings: Settings, origins: list[str], path: str, url: str
) -> None:
    settings.HOST, settings.PORT = "127.0.0.1", 8000
    settings.CSRF_TRUSTED_ORIGINS, settings.BASE_PATH = origins, path
    assert pages_url() == url
