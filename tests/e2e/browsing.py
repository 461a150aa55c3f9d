"""People and clients at once: pages that say what went wrong in them, and calls that run while a page is looked at."""

import threading
from typing import Any, Self

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.e2e.proxied import Proxied

# Several browsers and servers share a machine here, and five seconds can be short then.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)

WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 844}
GRAVE = {"serious", "critical"}


class Visitor:
    """A browser profile of its own. What its pages complain of, be it errors or broken rules, is in `complaints`."""

    def __init__(self, browser: Browser, base_url: str, **options: Any) -> None:
        # Where something pulses, each page is painted sixty times a second, which takes more than all else in it.
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
        """Go to a page of streamviz."""
        self.page.goto(path)
        return self.page

    def sign_in(self, link: str) -> Page:
        """Use a one-time link, as somebody does."""
        self.page.goto(link)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(lambda url: "/sign-in/" not in url)
        return self.page

    def wait_for(self, script: str, argument: Any = None) -> Any:
        """What a JavaScript function gives once it is something."""
        return self.page.wait_for_function(script, arg=argument).json_value()

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location.get('url')})")


class Call(threading.Thread):
    """A streaming chat call with the official SDK, in a thread of its own: the client that is looked at. Its first
    words are its session's name, so that pages show that."""

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
        """Leave with the next chunk: so a call can be longer than any test is on a busy machine."""
        self._hangs_up.set()

    def result(self, seconds: float = 240) -> Self:
        """Itself, once it is over. Raises what it failed with."""
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
        """Every finish_reason that came."""
        return [choice.finish_reason for chunk in self.chunks for choice in chunk.choices if choice.finish_reason]


def grown(page: Page, selector: str, by: int = 1) -> int:
    """How long the element's text is, once it is longer than it was by so much."""
    script = "([s, n]) => { const l = document.querySelector(s)?.textContent.length ?? 0; return l > n && l; }"
    before = page.wait_for_function(script, arg=[selector, 0]).json_value()
    return int(page.wait_for_function(script, arg=[selector, before + by - 1]).json_value())


def faults(page: Page) -> list[str]:
    """What axe finds to be serious, with the elements that it is about.

    axe is put into the page as a script, which the policy of our own pages forbids: open it with `bypass_csp`.
    """
    page.evaluate(Axe().axe_script)
    # It would fetch each style sheet and sound once more, for rules that are not tried by default or not serious. All
    # else that it gives, which is much, is not waited for.
    found = page.evaluate("axe.run({resultTypes: ['violations'], preload: false}).then((all) => all.violations)")
    return [
        f"{each['id']}: {node['html'][:120]}" for each in found if each["impact"] in GRAVE for node in each["nodes"]
    ]
