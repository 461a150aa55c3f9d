"""streamviz below a path, for browsers and clients, behind a proxy that strips the path and one that does not."""

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browsing import Reader
from tests.e2e.proxied import Proxied
from tests.services import Serving

pytestmark = pytest.mark.slow

BASE = "/team/viz"


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    with serving(BASE_PATH=BASE, METRICS_TOKEN="of the tests alone") as server:
        server.base_url += BASE
        with Proxied(server) as found:
            yield found


@pytest.fixture(params=[BASE, ""], ids=["kept", "taken off"])
def before(request: pytest.FixtureRequest, proxied: Proxied) -> str:
    """The URL to append a request's path to, with the base kept or stripped by a proxy."""
    return str(httpx.URL(proxied.server.base_url).copy_with(path=f"{request.param}/")).rstrip("/")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/static/css/base.css", "/sign-in/"])
def test_a_path_is_found_with_the_base_and_without(before: str, path: str) -> None:
    assert httpx.get(before + path).status_code == 200


def test_calls_are_answered_with_the_base_and_without(proxied: Proxied, before: str) -> None:
    headers = {"authorization": f"Bearer {proxied.server.api_key}"}
    body = {"model": "sim/content?speed=inf", "messages": [{"role": "user", "content": "Hello"}]}
    for path in ("/v1/chat/completions", "/chat/completions"):
        assert httpx.post(before + path, json=body, headers=headers, timeout=60).status_code == 200
    refused = httpx.post(f"{before}/v1/chat/completions", json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert httpx.get(f"{before}/v1/none", headers=headers).json()["error"]["code"] == "unknown_url"
    assert httpx.get(f"{before}/metrics", headers={"authorization": "Bearer of the tests alone"}).status_code == 200


def test_links_redirects_and_cookies_have_the_base_always(before: str) -> None:
    asked = httpx.get(f"{before}/sessions/?q=x")
    assert (asked.status_code, asked.headers["location"]) == (302, f"{BASE}/sign-in/?next={BASE}/sessions/%3Fq%3Dx")
    page = httpx.get(f"{before}/sign-in/")
    addresses = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
    assert addresses
    assert [address for address in addresses if not address.startswith(f"{BASE}/")] == []
    assert all(f"Path={BASE}/" in cookie for cookie in page.headers.get_list("set-cookie"))


def test_another_path_that_begins_alike_is_none_of_ours(proxied: Proxied) -> None:
    assert httpx.get(f"{proxied.server.base_url}izer/healthz").status_code == 404


def test_a_browser_signs_in_watches_and_goes_from_page_to_page(chromium: Browser, proxied: Proxied) -> None:
    with Reader(chromium, proxied.server.base_url) as reader:
        page = reader.sign_in(proxied.server.sign_in_link)
        page.get_by_role("link", name="Live").first.click()
        expect(page.locator("#pill")).to_have_text("live")
        proxied.ask("content?speed=inf", "told by the socket")
        page.locator("#wall .row-link").first.click()
        page.locator("#peek").get_by_role("link", name="Open").click()
        page.wait_for_url(f"**{BASE}/streams/*/")
        assert reader.complaints == []


def test_the_sign_in_page_of_another_streamviz_beside_it_opens_no_page_again(
    chromium: Browser, proxied: Proxied
) -> None:
    origin = proxied.server.base_url.removesuffix(BASE)
    with Reader(chromium, origin) as reader:
        mine, others = reader.open("/healthz"), reader.context.new_page()
        others.goto(f"{origin}{BASE}/sign-in/")
        [key] = mine.evaluate("Object.keys(localStorage)")
        assert key.endswith(f" {BASE}/")
