"""Browsers and clients at the same time: pages that report errors, and calls that run while a page is examined."""

import threading
from typing import Any, Self

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.e2e.proxied import Proxied

# Several browsers and servers share a machine here, so five seconds may be too short.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)

WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 844}
GRAVE = {"serious", "critical"}


class Reader:
    """A separate browser profile. Errors and violations of the CSP that its pages report are in `complaints`."""

    def __init__(self, browser: Browser, base_url: str, **options: Any) -> None:
        # Animations repaint each page sixty times a second, which takes more time than everything else in it.
        usual = {"viewport": WIDE, "reduced_motion": "reduce"}
        self.context: BrowserContext = browser.new_context(base_url=base_url, **{**usual, **options})
        self.context.set_default_timeout(PATIENCE_MS)
        self.complaints: list[str] = []
        self.context.on("console", self._said)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.page: Page = self.context.new_page()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def open(self, path: str) -> Page:
        """Open a page of streamviz."""
        self.page.goto(path)
        return self.page

    def sign_in(self, link: str) -> Page:
        """Sign in with a one-time link, as a person does."""
        self.page.goto(link)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(lambda url: "/sign-in/" not in url)
        return self.page

    def wait_for(self, script: str, argument: Any = None) -> Any:
        """Wait until a JavaScript function returns something truthy; returns that."""
        return self.page.wait_for_function(script, arg=argument).json_value()

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location.get('url')})")


class Call(threading.Thread):
    """A streaming chat call with the official SDK, in its own thread: the client that is being observed. Its message is
    its session's name, so pages show that."""

    def __init__(self, proxied: Proxied, model: str, session: str, **more: Any) -> None:
        super().__init__(name=session, daemon=True)
        self._proxied, self._model, self._session, self._more = proxied, model, session, more
        self.chunks: list[Any] = []
        self.error: Exception | None = None
        self._hangs_up = threading.Event()
        proxied.calls.append(self)
        self.start()

    def run(self) -> None:
        headers = {"x-session-id": self._session}
        said: Any = [{"role": "user", "content": self._session}]
        try:
            with self._proxied.sdk.chat.completions.create(
                model=f"sim/{self._model}", messages=said, stream=True, extra_headers=headers, **self._more
            ) as stream:
                for chunk in stream:
                    self.chunks.append(chunk)
                    if self._hangs_up.is_set():
                        break
        except Exception as error:
            self.error = error

    def hang_up(self) -> None:
        """Disconnect at the next chunk: this way a call can be longer than any test takes on a busy machine."""
        self._hangs_up.set()

    def result(self, seconds: float = 240) -> Self:
        """Wait until the call is over and return it. Raises the error that it failed with."""
        self.join(seconds)
        assert not self.is_alive(), f"{self._model} did not end within {seconds} s"
        if self.error:
            raise self.error
        return self

    @property
    def text(self) -> str:
        """All content."""
        return "".join(choice.delta.content or "" for chunk in self.chunks for choice in chunk.choices)

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of its tool calls, by name."""
        names: dict[int, str] = {}
        texts: dict[int, str] = {}
        for chunk in self.chunks:
            for call in [call for choice in chunk.choices for call in choice.delta.tool_calls or []]:
                names[call.index] = names.get(call.index) or call.function.name or ""
                texts[call.index] = texts.get(call.index, "") + (call.function.arguments or "")
        return {names[index]: text for index, text in texts.items()}

    @property
    def finish_reasons(self) -> list[str]:
        """Every finish_reason received."""
        return [choice.finish_reason for chunk in self.chunks for choice in chunk.choices if choice.finish_reason]


def grown(page: Page, selector: str, by: int = 1) -> int:
    """Wait until an element's text has grown by `by` characters; returns its new length."""
    script = "([s, n]) => { const l = document.querySelector(s)?.textContent.length ?? 0; return l > n && l; }"
    before = page.wait_for_function(script, arg=[selector, 0]).json_value()
    return int(page.wait_for_function(script, arg=[selector, before + by - 1]).json_value())


def faults(page: Page) -> list[str]:
    """The serious violations that axe finds, with the elements concerned.

    axe is injected as a script, which our pages' CSP forbids: open the page with `bypass_csp`.
    """
    page.evaluate(Axe().axe_script)
    # Without preload, which would fetch each stylesheet and sound again for rules that are off by default or not
    # serious. Only the violations are transferred, as the rest of the result is large.
    found = page.evaluate("axe.run({resultTypes: ['violations'], preload: false}).then((all) => all.violations)")
    return [
        f"{each['id']}: {node['html'][:120]}" for each in found if each["impact"] in GRAVE for node in each["nodes"]
    ]
