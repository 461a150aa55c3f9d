"""Light, dark, or the system's setting."""

import pytest

from tests.dashboard.conftest import Cast


@pytest.mark.parametrize("path", ["/", "/account/", "/sign-in/", "/no-such-page/"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_choice_holds_on_every_page(cast: Cast, path: str, theme: str) -> None:
    cast["bob"].post("/account/theme/", {"theme": theme})
    assert f'<html lang="en" data-theme="{theme}">' in cast["bob"].get(path, follow=True).content.decode()


@pytest.mark.parametrize("choice", ["", "blue", '"><script>'])
def test_without_one_the_system_decides(cast: Cast, choice: str) -> None:
    cast["bob"].post("/account/theme/", {"theme": "dark"})
    cast["bob"].post("/account/theme/", {"theme": choice})
    assert '<html lang="en">' in cast["bob"].get("/account/").content.decode()


def test_a_cookie_of_somebody_elses_making_is_none(cast: Cast) -> None:
    cast["bob"].cookies["theme"] = "blue"
    assert '<html lang="en">' in cast["bob"].get("/account/").content.decode()
