"""README's screenshots: `make pictures` runs the demo agent on a streamviz of its own and captures the pages."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tests.services import chromium_program

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
PORT, SIMULATOR_PORT = int(os.environ.get("PORT", "8880")), int(os.environ.get("SIMULATOR_PORT", "8881"))
URL = f"http://127.0.0.1:{PORT}"
_SIZE: ViewportSize = {"width": 1280, "height": 800}
_WAIT_MS = 180_000
LINK_FILE = "sign_in_link"


def main() -> None:
    """Make all pictures, in light and dark mode."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with _demo() as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program(), args=["--no-sandbox"])
        page = _signed_in(browser, link)
        _live(page)
        _rest(page)
        browser.close()


@contextmanager
def _demo() -> Iterator[str]:
    """A running demo; gives its sign-in link."""
    with tempfile.TemporaryDirectory(prefix="streamviz-pictures-") as folder:
        environment = {
            **os.environ,
            "VAR_DIR": folder,
            "PORT": str(PORT),
            "SIMULATOR_PORT": str(SIMULATOR_PORT),
            "PYTHONUNBUFFERED": "1",
        }
        command = [sys.executable, "manage.py", "demo"]
        program = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert program.stdout is not None
            # If its output is not a terminal, it prints the name of a file that has the link.
            next(line for line in program.stdout if LINK_FILE in line)
            yield (Path(folder) / LINK_FILE).read_text().strip()
        finally:
            program.send_signal(signal.SIGINT)
            program.wait(60)


def _signed_in(browser: Browser, link: str) -> Page:
    page = browser.new_context(viewport=_SIZE, device_scale_factor=1).new_page()
    page.set_default_timeout(_WAIT_MS)
    page.goto(link)
    page.locator("form button[type=submit]").first.click()
    return page


def _live(page: Page) -> None:
    """While the agent waits for a person, who then allows the call."""
    page.goto(URL)
    allow = page.locator("#wall").get_by_role("button", name=re.compile("^Allow")).first
    allow.wait_for()
    _picture(page, "live")
    allow.click()


def _rest(page: Page) -> None:
    """The session after it is over, and the tapes of its denied stream."""
    page.goto(f"{URL}/sessions/?range=1h")
    page.locator("tr[data-row] a").first.click()
    # The agent's last turn calls no tool.
    while not page.locator(".turn-item", has_text="answer").count():
        page.wait_for_timeout(1_000)
        page.reload()
    _picture(page, "session")
    denied = page.locator(".turn", has=page.locator(".is-denied")).first.locator("a[href^='/streams/']").first
    page.goto(f"{URL}{denied.get_attribute('href')}tapes/")
    _picture(page, "tapes")


def _picture(page: Page, name: str) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=PICTURES / f"{name}-{scheme}.png")


if __name__ == "__main__":
    main()
