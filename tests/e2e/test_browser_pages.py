"""Every page: for people with poor sight, without a mouse, on a phone, and with hostile text in it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from streamviz.simulator.scenarios import HOSTILE_TEXT
from tests.conftest import CHROMIUM_FLAGS
from tests.core.support import call, calls, delta, sse
from tests.e2e.browsing import NARROW, Call, Reader, faults, grown
from tests.e2e.proxied import Proxied, until
from tests.services import Serving, chromium_program
from tests.thorough import IS_THOROUGH

pytestmark = pytest.mark.slow

STREAM = "SELECT s.id, session_id FROM records_stream s JOIN records_session n ON n.id = session_id WHERE name = %s"

ENDS = "UPDATE records_publiclink SET expires_at = now() WHERE id = (SELECT max(id) FROM records_publiclink)"


IS_WIDE = "document.documentElement.scrollWidth > window.innerWidth"
# How far an element's contents extend beyond its edge.
CUT_OFF = "element => element.scrollWidth - element.clientWidth"
# Times and counts with as many digits as they usually have, however fast this machine is.
WIDE_FIGURES = """UPDATE records_stream SET input_tokens = 123456, output_tokens = 12345, cost = 12.34,
    upstream_first_at = requested_at + interval '1234 ms', client_first_at = requested_at + interval '1345 ms',
    ended_at = requested_at + interval '754 s', itl_p50_us = 123456, itl_p95_us = 234567"""
# What is too low for its words.
TOO_LOW = """[...document.querySelectorAll('.button, .segments a, .pill, .nav-link, .verdict, .stream-row, .lane-name')]
  .filter((each) => each.offsetHeight > 2 && each.scrollHeight > each.clientHeight + 1).map((each) => each.outerHTML)"""
# Whether an element's outline extends above its parent, which clips its contents.
IS_CUT = """element => {
  const { outlineOffset, outlineWidth } = getComputedStyle(element);
  const [inner, outer] = [element, element.parentElement].map((each) => each.getBoundingClientRect());
  return inner.top - parseFloat(outlineOffset) - parseFloat(outlineWidth) < outer.top;
}"""
LIGHT, DARK = {"color_scheme": "light"}, {"color_scheme": "dark", "viewport": NARROW}
LOOKS: dict[str, dict[str, Any]] = {"light": LIGHT, "dark-on-a-phone": DARK} if IS_THOROUGH else {"light": LIGHT}
SCHEMES = ["light", "dark"] if IS_THOROUGH else ["light"]
ADMIN = [
    "/admin/",
    *(f"/admin/{path}/" for path in ("records/policy", "records/policy/add", "records/policy/1/change")),
    *(f"/admin/{path}/" for path in ("records/apikey", "auth/user", "auth/user/1/change", "auth/group/add")),
]
# Pieces of 25 kB: a line of a megabyte, or in a plain run one that is still longer than a page shows.
PIECES = 40 if IS_THOROUGH else 16


class Site:
    """A streamviz with something on every page, and the administrator's session."""

    def __init__(self, chromium: Browser, proxied: Proxied) -> None:
        self.chromium, self.proxied = chromium, proxied
        with self.visit(signed_in=False) as reader:
            reader.sign_in(proxied.server.sign_in_link)
            self.session = reader.context.storage_state()
        proxied.ask("dangerous?speed=inf", "past")
        proxied.ask("content?chunks=4&speed=inf", "beside")
        proxied.ask("error-500", "broken")
        self.stream_id, self.session_id = self.find("past")
        self.other_id, _ = self.find("beside")
        self.find("broken")
        self.backtest = self.back_test()
        self.shared = self.share()

    def visit(self, *, signed_in: bool = True, **options: Any) -> Reader:
        state = {"storage_state": self.session} if signed_in else {}
        return Reader(self.chromium, self.proxied.server.base_url, **state, **options)

    def back_test(self) -> str:
        """Run a back-test and return its path when it is done."""
        with self.visit() as reader:
            page = reader.open("/policies/shell-guard/")
            page.get_by_role("button", name="Run back-test").click()
            expect(page.locator(".backtest-head")).to_contain_text("done")
            return urlsplit(page.url).path

    def share(self) -> str:
        """Save a view of sessions, and return the path of a public link to the session."""
        with self.visit() as reader:
            page = reader.open("/sessions/?q=past")
            page.locator(".menu-views summary").click()
            page.get_by_placeholder("Save this view as").fill("of the past")
            page.get_by_role("button", name="Save", exact=True).click()
            return self.make_link(reader)

    def make_link(self, reader: Reader) -> str:
        """The path of a new public link to the session."""
        page = reader.open(f"/sessions/{self.session_id}/")
        page.locator(".menu-share summary").click()
        page.get_by_role("button", name="Make link").click()
        return urlsplit(page.locator("#secret").inner_text()).path

    def find(self, label: str) -> tuple[Any, Any]:
        """The only stream of a session, and the session."""
        [found] = until(lambda: self.proxied.query(STREAM, label))
        return found[0], found[1]

    @property
    def paths(self) -> list[str]:
        stream = f"/streams/{self.stream_id}/"
        tabs = [stream, f"{stream}?at=20", f"{stream}?at=20&tape=client", f"{stream}tapes/?row=1"]
        tabs += [f"{stream}chunks/", f"{stream}request/"]
        kinds = [f"/policies/new/{kind}/" for kind in ("limits", "cel_rule", "python")]
        policies = ["/policies/", "/policies/shell-guard/", self.backtest, *kinds]
        session = f"/sessions/{self.session_id}/"
        others = ["/", "/?q=model:nothing", "/sessions/", session, f"{session}?time=scale", "/keys/", "/system/"]
        others += [
            "/public-links/",
            self.shared,
            "/compare/",
            f"/compare/?a={self.stream_id}",
            "/errors/",
            "/errors/?q=model:nothing",
            "/errors/refused/",
        ]
        history = [
            f"/compare/?a={self.stream_id}&b={self.other_id}",
            "/stats/",
            "/stats/?range=7d&compare=week",
            "/stats/?by=tool",
            "/stats/?range=1h&by=session",
            "/sessions/?q=model:nothing",
            "/sessions/?q=past&range=1h",
            "/sessions/histogram/",
        ]
        return [*tabs, *policies, *others, *history, "/account/", "/no-such-page/"]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of recordings that the simulator replays, to which tests add their own."""
    folder = tmp_path_factory.mktemp("recordings")
    (folder / "openai_chat").mkdir()
    return folder


@pytest.fixture(scope="module")
def site(chromium: Browser, serving: Serving, recordings: Path) -> Iterator[Site]:
    with serving(SIMULATOR_REPLAY_DIR=str(recordings), PUBLIC_LINKS="1") as server, Proxied(server) as proxied:
        yield Site(chromium, proxied)


@pytest.fixture(autouse=True)
def hang_up(site: Site) -> Iterator[None]:
    """End each test's calls before the next test."""
    yield
    site.proxied.hang_up()


def out_of_date(page: Page) -> Page:
    """The page after submitting the sign-in form without its token."""
    page.context.clear_cookies()
    page.get_by_label("User name").fill("somebody")
    page.get_by_label("Password").fill("something")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading")).to_have_text("This form has expired")
    return page


def unfolded(page: Page) -> Page:
    """The page with everything unfolded and every menu open."""
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    return page


def replayed(page: Page) -> Page:
    """What the policies in force would make of a stream."""
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_role("heading", name="Replayed with the enforced policies")).to_be_visible()
    return page


def too_wide(site: Site, **options: Any) -> list[str]:
    """The pages that are wider than the window."""
    with site.visit(**options) as reader:
        return [path for path in site.paths if reader.open(path).evaluate(IS_WIDE)]


def faults_of_all(site: Site, **options: Any) -> dict[str, list[str]]:
    """The serious violations on each page that has any."""
    found = {}
    with site.visit(bypass_csp=True, **options) as reader:
        for path in site.paths:
            found[path] = faults(reader.open(path))
        for path in ("/sessions/", f"/sessions/{site.session_id}/"):
            found[f"{path}, unfolded"] = faults(unfolded(reader.open(path)))
        found["a replay"] = faults(replayed(reader.open(f"/streams/{site.stream_id}/")))
    with site.visit(signed_in=False, bypass_csp=True, **options) as stranger:
        page = stranger.open("/sign-in/")
        found["/sign-in/"] = faults(page)
        found["a form out of date"] = faults(out_of_date(page))
    return {path: each for path, each in found.items() if each}


def test_no_page_is_wider_than_its_window(site: Site) -> None:
    assert too_wide(site) + too_wide(site, viewport=NARROW) == []


def test_a_page_that_is_seen_at_four_times_its_size_is_read_without_scrolling_sideways(site: Site) -> None:
    assert too_wide(site, viewport={"width": 320, "height": 256}) == []


def test_the_smallest_windows_are_wide_enough(site: Site) -> None:
    assert too_wide(site, viewport={"width": 300, "height": 600}) == []


def test_pages_grow_with_the_browsers_font_size_as_when_they_are_zoomed(site: Site) -> None:
    flags = [*CHROMIUM_FLAGS, "--blink-settings=defaultFontSize=32"]
    url, session = site.proxied.server.base_url, site.session
    with site.chromium.browser_type.launch(executable_path=chromium_program(), args=flags) as large_print:
        for width in (640, 1280, 2560):
            with Reader(large_print, url, storage_state=session, viewport={"width": width, "height": 900}) as reader:
                for path in site.paths:
                    assert reader.open(path).evaluate("getComputedStyle(document.body).fontSize") == "26px"
                    assert not reader.page.evaluate(IS_WIDE), (path, width)
                    assert reader.page.evaluate(TOO_LOW) == [], (path, width)


@pytest.mark.parametrize("width", [390, 1000, 1280])
def test_rows_of_live_have_room_for_words_of_the_browsers_smallest_font_size(site: Site, width: int) -> None:
    flags = [*CHROMIUM_FLAGS, "--blink-settings=minimumFontSize=22"]
    url, size = site.proxied.server.base_url, {"width": width, "height": 900}
    with (
        site.chromium.browser_type.launch(executable_path=chromium_program(), args=flags) as large_print,
        Reader(large_print, url, storage_state=site.session, viewport=size) as reader,
    ):
        page = reader.open("/")
        expect(page.locator(".stream-row").first).to_be_visible()
        assert page.evaluate(TOO_LOW) == []
        assert not page.evaluate(IS_WIDE)
        assert {each.evaluate(CUT_OFF) for each in page.locator(".row-time").all()} == {0}


@pytest.mark.parametrize("width", [300, 1024, 1280])
def test_permissions_are_chosen_in_the_admin_without_scrolling_sideways(site: Site, width: int) -> None:
    with site.visit(viewport={"width": width, "height": 700}) as reader:
        for path in ("/admin/auth/group/add/", "/admin/auth/user/1/change/"):
            assert not reader.open(path).evaluate(IS_WIDE), path


@pytest.mark.parametrize("width", [390, 721, 760, 900, 1280])
def test_what_happened_in_a_session_has_room_beside_what_can_be_done(site: Site, width: int) -> None:
    with site.visit(viewport={"width": width, "height": 700}) as reader:
        story = reader.open(f"/sessions/{site.session_id}/").locator(".story")
        box = story.bounding_box()
        assert box is not None
        assert box["width"] >= 320
        assert story.evaluate("element => parseFloat(getComputedStyle(element).paddingRight)") > 0


@pytest.mark.parametrize("width", [320, 721, 760, 800, 900, 1000, 1280])
def test_opening_a_note_moves_nothing_and_shows_it_at_its_button(site: Site, width: int) -> None:
    with site.visit(viewport={"width": width, "height": 700}) as reader:
        for path, below in ((f"/streams/{site.stream_id}/", ".tabs"), (f"/sessions/{site.session_id}/", ".turns")):
            page = reader.open(path)
            before = page.locator(below).bounding_box()
            page.get_by_text("Add note").click()
            expect(page.get_by_label("Note", exact=True)).to_be_focused()
            assert page.locator(below).bounding_box() == before
            box = page.locator(".note-edit form").bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            button = page.locator(".note-edit > summary").bounding_box()
            assert button is not None
            gaps = [box["x"] - button["x"], box["x"] + box["width"] - button["x"] - button["width"]]
            assert width <= 720 or min(abs(gap) for gap in gaps) < 1, path


@pytest.mark.parametrize("has_touch", [False, True])
@pytest.mark.parametrize("width", [320, 600, 721, 800, 900, 960, 1280])
def test_every_menu_opens_within_the_window_and_below_its_button(site: Site, width: int, has_touch: bool) -> None:
    with site.visit(viewport={"width": width, "height": 700}, has_touch=has_touch) as reader:
        for path in (f"/streams/{site.stream_id}/", f"/sessions/{site.session_id}/", "/sessions/"):
            page = reader.open(path)
            for menu in page.locator("main .menu").all():
                menu.locator("summary").first.click()
                button = menu.locator("summary").first.bounding_box()
                box = menu.locator(".menu-list").bounding_box()
                assert box is not None
                assert button is not None
                assert box["x"] >= 0, menu.inner_text()
                assert box["x"] + box["width"] <= width, menu.inner_text()
                assert box["x"] < button["x"] + button["width"], menu.inner_text()
                assert box["x"] + box["width"] > button["x"], menu.inner_text()
                assert 0 <= box["y"] - button["y"] - button["height"] < 60, menu.inner_text()
                menu.locator("summary").first.click()  # nothing covers it
                expect(menu.locator(".menu-list")).to_be_hidden()


@pytest.mark.parametrize("width", [320, 721, 760, 960, 1280])
def test_a_search_and_the_times_have_room_in_windows_of_all_widths(site: Site, width: int) -> None:
    with site.visit(viewport={"width": width, "height": 700}) as reader:
        for path in ("/sessions/", "/errors/"):
            box = reader.open(path).locator("[data-search]").bounding_box()
            assert box is not None
            assert box["width"] >= 200, path
            for choice in reader.page.locator(":is(.topbar-end, .filter-bar) > .segments").all():
                assert choice.evaluate(CUT_OFF) == 0, path


def test_a_note_that_is_written_in_two_windows_keeps_both_texts(site: Site) -> None:
    with site.visit() as reader:
        pages = [reader.page, reader.context.new_page()]
        for page in pages:
            page.goto(f"/streams/{site.other_id}/")
            page.get_by_text("Add note").click()
        for page, words in zip(pages, ("one\nline", "another"), strict=True):
            page.get_by_label("Note", exact=True).fill(words)
            page.get_by_label("Labels").fill(words.split()[0])
            page.get_by_role("button", name="Save note").click()
            expect(page.locator(".session-note")).to_contain_text(words.split()[0])
        expect(pages[1].locator(".notice")).to_contain_text("Both texts were kept")
        expect(pages[1].locator(".session-note")).to_have_text("one\nline\n\nanother", use_inner_text=True)
        expect(pages[1].locator(".tag")).to_have_text(["one", "another"])


def test_what_is_focused_shows_all_of_its_outline(site: Site) -> None:
    with site.visit() as reader:
        page = reader.open("/sessions/")
        page.locator("[data-search]").focus()
        page.keyboard.press("Tab")
        focused = page.locator(".segments a:focus-visible")
        expect(focused).to_have_text("All")
        assert focused.evaluate(IS_CUT) is False


@pytest.mark.parametrize("look", LOOKS)
def test_no_page_has_a_serious_fault(site: Site, look: str) -> None:
    assert faults_of_all(site, **LOOKS[look]) == {}


@pytest.mark.parametrize("look", LOOKS)
def test_no_page_of_the_admin_has_a_serious_fault(site: Site, look: str) -> None:
    with site.visit(bypass_csp=True, **LOOKS[look]) as reader:
        assert {path: found for path in ADMIN if (found := faults(reader.open(path)))} == {}
        expect(reader.page.get_by_role("main")).to_be_visible()


def test_the_admins_menus_open_and_close_by_keyboard(site: Site) -> None:
    with site.visit() as reader:
        page = reader.open("/admin/records/policy/")
        page.get_by_role("button", name="A admin").press("Enter")
        page.get_by_role("button", name="Dark").press(" ")
        expect(page.locator("html")).to_have_class(re.compile("dark"))
        page.get_by_role("button", name="Filters", exact=True).press("Enter")
        expect(page.locator("#changelist-filter")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#changelist-filter")).to_be_hidden()
        page.set_viewport_size({"width": 390, "height": 844})
        page.get_by_role("button", name="Navigation").press("Enter")
        expect(page.get_by_role("link", name="API keys")).to_be_visible()
        page.get_by_role("button", name="Close").press("Enter")
        expect(page.get_by_role("link", name="API keys")).to_be_hidden()
        assert reader.complaints == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_runs_has_no_serious_fault_either(site: Site, scheme: str) -> None:
    calls = [Call(site.proxied, f"{name}?pace=1500", f"{name}-{scheme}") for name in ("thinking", "parallel-tools")]
    with site.visit(color_scheme=scheme, bypass_csp=True) as reader:
        page = reader.open("/")
        page.get_by_role("link", name=f"parallel-tools-{scheme}").click()
        expect(page.locator("#peek .arg-key").first).to_be_visible()
        assert faults(page) == []
        page.keyboard.press("?")
        assert faults(page) == []
        reader.open(f"/streams/{site.find(f'thinking-{scheme}')[0]}/")
        expect(page.locator("#b0")).to_be_visible()
        assert faults(page) == []
    assert all(call.is_alive() for call in calls)


def test_however_many_filters_stay_in_their_bar(site: Site) -> None:
    with site.visit(viewport={"width": 760, "height": 600}) as reader:
        page = reader.open("/?q=" + "+".join(f"model:one-of-many-{n}" for n in range(9)))
        bar = page.locator(".filter-bar").bounding_box()
        chips = [each.bounding_box() for each in page.locator(".filter-chip").all()]
        assert bar
        assert len(chips) == 9
        assert all(chip and bar["y"] <= chip["y"] <= bar["y"] + bar["height"] - chip["height"] for chip in chips)


@pytest.mark.parametrize("path", ["/sessions/", "/errors/"])
def test_words_that_were_typed_but_not_entered_go_along_with_another_filter_or_time(site: Site, path: str) -> None:
    with site.visit() as reader:
        for link, keys in (("Failed", 1), ("7 d", 1), ("Remove the filter key:first*", 0)):
            page = reader.open(f"{path}?q=key:first*")
            page.locator("[data-search]").fill('"pa st"')
            page.get_by_role("link", name=link, exact=True).click()
            expect(page.locator(".filter-chip", has_text='"pa st"')).to_be_visible()
            expect(page.locator(".filter-chip", has_text="key:first*")).to_have_count(keys)
            expect(page.locator("[data-search]")).to_have_value("")


def test_removing_a_filter_of_live_keeps_what_is_typed(site: Site) -> None:
    with site.visit() as reader:
        page = reader.open("/?q=key:first*")
        page.locator("[data-search]").fill("nothing-like-this")
        expect(page.locator(".no-match code")).to_have_text("key:first* nothing-like-this")
        page.locator(".filter-chip a").click()
        expect(page.locator(".no-match code")).to_have_text("nothing-like-this")


def test_twenty_pages_of_one_person_show_the_same_rows(site: Site) -> None:
    with site.visit() as reader:
        pages = [reader.open("/"), *(reader.context.new_page() for _ in range(19))]
        for page in pages[1:]:
            page.goto("/")
        calls = [Call(site.proxied, "content?chunks=900&pace=2000", f"on-every-page-{n}") for n in range(2)]
        for page in pages:
            for n in range(2):
                expect(page.get_by_role("link", name=f"on-every-page-{n}", exact=True)).to_be_visible()
            expect(page.locator("#pill")).to_have_text("live")
        assert reader.complaints == []
    assert all(call.is_alive() for call in calls)


def test_a_first_simulated_stream_is_not_refused_before_it_runs(site: Site) -> None:
    with site.visit() as reader:
        page = reader.open("/")
        page.get_by_role("button", name="Send a simulated stream").click()
        expect(page.get_by_role("link", name="Thinking first, then text, please")).to_be_visible()
        expect(reader.open("/errors/refused/").locator("main")).not_to_contain_text("401")


def test_everything_can_be_reached_by_keyboard(site: Site) -> None:
    call = Call(site.proxied, "content?chunks=50000&pace=20", "by-keyboard")
    with site.visit() as reader:
        page = reader.open("/sessions/")
        press = page.keyboard.press
        for letter, path in {"p": "/policies/", "t": "/stats/", "k": "/keys/", "s": "/sessions/", "l": "/"}.items():
            press("g")
            press(letter)
            page.wait_for_url(site.proxied.server.base_url + path)
        expect(page.get_by_role("link", name="by-keyboard", exact=True)).to_be_visible()
        press("/")
        page.keyboard.type("g p by-keyboard")
        press("Enter")
        page.wait_for_url(re.compile(r"/\?q="))
        page.locator(".filter-chip a").first.focus()
        press("Enter")
        page.wait_for_url(re.compile(r"/\?q=p%20by-keyboard$"))
        reader.open("/?q=by-keyboard")
        press("j")
        expect(page.get_by_role("link", name="by-keyboard", exact=True)).to_be_focused()
        press("Enter")
        expect(page.locator("#peek #b0-text")).to_be_visible()
        press("Enter")
        page.wait_for_url("**/streams/*/")
        press("?")
        expect(page.locator("#keys-help")).to_be_visible()
        press("Escape")
        expect(page.locator("#keys-help")).to_be_hidden()
        press("j")
        expect(page.locator(".block-item").first).to_be_focused()
    assert call.is_alive()


def test_hostile_text_does_nothing_anywhere(site: Site) -> None:
    label = '"><img src=x onerror=alert(1)><script>alert(2)</script>\u202eevil hx-get="/sign-out/" hx-trigger="load"'
    model = "sim/hostile?pace=40"
    headers = {"x-session-id": quote(label), "user-agent": "<svg onload=alert(3)>"}
    with site.visit() as reader:
        page = reader.open("/")
        page.on("dialog", lambda dialog: reader.complaints.append(f"a dialog: {dialog.message}"))
        stream = site.proxied.sdk.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": label}],
            stream=True,
            extra_headers=headers,
        )
        seen = iter(stream)
        next(seen)
        row = page.locator(".stream-row").filter(has_text="evil").first
        expect(row.locator(".tail")).to_contain_text("script")
        row.locator(".row-link").click()
        expect(page.locator("#peek #b0-text")).to_contain_text("<script>alert('content')</script>")
        for _ in seen:
            pass
        path = f"/streams/{site.find(quote(label))[0]}/"
        for each in (path, f"{path}chunks/", f"{path}request/", "/sessions/", "/stats/?by=session", "/"):
            reader.open(each)
            assert page.locator("main img, main iframe, main script, main [onerror], main [onload]").count() == 0
        reader.open(path)
        shown = page.locator("#b0-text").text_content() or ""
        assert shown.startswith(HOSTILE_TEXT[:80])
        assert "\x00" not in shown
        assert reader.complaints == []


def test_a_line_of_very_many_characters_breaks_no_page(site: Site, recordings: Path) -> None:
    piece = "x<b>&" * 5_000
    line = PIECES * piece
    arguments = json.dumps({"path": line[:200_000]})
    deltas = [delta(content=piece)] * PIECES
    deltas += [calls(call(0, "call-0", "n" * 100_000, "")), *(calls(call(0, None, None, arguments[at : at + 20_000]))
               for at in range(0, len(arguments), 20_000))]  # fmt: skip
    recording = b"".join(sse(each) for each in [*deltas, delta(finish="tool_calls")]) + b"data: [DONE]\n\n"
    (recordings / "openai_chat" / "megabyte.sse").write_bytes(recording)
    with site.visit() as reader:
        page = reader.open("/")
        running = Call(site.proxied, "replay:openai_chat/megabyte?pace=600", "a megabyte")
        page.get_by_role("link", name="a megabyte").click()
        grown(page, "#peek #b0-text", by=100_000)
        path = f"/streams/{site.find('a megabyte')[0]}/"
        reader.open(path)
        grown(page, "#b0-text", by=100_000)
        assert running.result().text == line
        expect(page.locator("#pill")).to_have_text("finished")
        for block, text in (("#b0-text", line), ("#b1-text", arguments)):
            shown = page.locator(block).text_content() or ""  # the middle is left out if it is too long for a page
            assert (shown[:50_000], shown[-50_000:]) == (text[:50_000], text[-50_000:])
        for each in ("/", path, f"{path}chunks/", f"{path}request/", "/sessions/?q=megabyte", "/stats/"):
            reader.open(each)
            assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert reader.complaints == []


def test_the_histogram_comes_after_the_page_and_moves_nothing(site: Site) -> None:
    held: list[Route] = []
    with site.visit() as reader:
        page = reader.page
        page.route("**/sessions/histogram/**", lambda route: held.append(route))
        with page.expect_request("**/sessions/histogram/**"):
            reader.open("/sessions/?q=model:dangerous")
        histogram, table = page.locator(".histogram"), page.locator("main > .table-wrap")
        expect(histogram).to_contain_text("Counting…")
        expect(page.locator(".session-id", has_text="past")).to_be_visible()
        before = table.bounding_box()
        held[0].continue_()
        expect(histogram.locator(".chart-head b")).to_have_text("1 stream")
        assert table.bounding_box() == before
        histogram.locator("summary").focus()
        page.keyboard.press("Enter")
        in_table = histogram.locator("tbody a")
        expect(in_table).to_have_count(1)
        expect(in_table).to_be_visible()
        page.unroute("**/sessions/histogram/**")
        histogram.locator(".bars a").click()
        page.wait_for_url(re.compile(r"/sessions/\?q=model%3Adangerous&since=.*&until="))
        expect(page.locator(".filter-chip")).to_contain_text("model:dangerous")
        expect(page.locator(".session-id", has_text="past")).to_be_visible()
        expect(page.locator(".histogram .chart-head b")).to_have_text("1 stream")
        assert reader.complaints == []


def test_the_histogram_says_why_it_does_not_come(site: Site) -> None:
    with site.visit() as reader:
        page = reader.page
        answers = iter([lambda route: route.abort(), lambda route: route.fulfill(status=503, body="")])
        page.route("**/sessions/histogram/**", lambda route: next(answers)(route))
        for said in ("The server cannot be reached.", "the server answered 503"):
            reader.open("/sessions/")
            expect(page.locator(".histogram .chart-head b")).to_contain_text(said)
            expect(page.locator(".histogram")).not_to_have_attribute("aria-busy", "true")
            expect(page.locator(".session-id", has_text="past")).to_be_visible()


def test_without_scripts_a_link_leads_to_the_histogram(site: Site) -> None:
    with site.visit(java_script_enabled=False) as reader:
        page = reader.open("/sessions/?q=past")
        page.get_by_role("link", name="Streams by time").click()
        expect(page.locator(".histogram .chart-head b")).to_have_text("1 stream")
        expect(page.locator(".histogram .bars a")).to_have_count(1)


def test_a_public_link_is_read_by_strangers_until_it_ends(site: Site) -> None:
    with site.visit() as alice, site.visit(signed_in=False) as stranger:
        path = site.make_link(alice)
        page = stranger.open(path)
        expect(page.locator(".turn")).to_contain_text("run_shell")
        expect(page.locator("a[href^='/']")).to_have_count(0)
        # The link expires.
        site.proxied.query(ENDS)
        expect(alice.open("/public-links/").locator("tr[data-row]").first).to_contain_text("expired")
        answer = page.reload()
        assert answer is not None
        assert answer.status == 404
        expect(page.get_by_role("heading")).to_have_text("Page not found")


def test_all_columns_fit_an_ordinary_window_and_all_times_a_small_one(site: Site) -> None:
    name = "a task of an agent, in words, of which there are more than fit into a column of a table of sessions"
    for model in ("dangerous?speed=inf&seed=1234567", "error-500?seed=1234567", "error-500?seed=7654321"):
        site.proxied.ask(model, name)
    until(lambda: len(site.proxied.query(STREAM, name)) == 3)
    site.proxied.query("UPDATE records_apikey SET name = name || repeat(' of a team', 5)")
    site.proxied.query("UPDATE records_policyversion SET reason = repeat('as ever ', 20)")
    site.proxied.query("UPDATE records_policy SET name = repeat('schema-check-', 3) WHERE name = 'schema-check'")
    site.proxied.query(WIDE_FIGURES)
    with site.visit() as reader:
        for path in ("/sessions/?range=all", "/policies/"):
            reader.open(path)
            table = reader.page.locator(".table-wrap", has=reader.page.locator("tr[data-row]"))
            assert table.evaluate(CUT_OFF) == 0
        tables = reader.open("/stats/").locator(".stats-part .table-wrap").all()
        assert {table.evaluate(CUT_OFF) for table in tables} == {0}
        reader.page.set_viewport_size({"width": 1024, "height": 800})
        by_time = reader.page.get_by_role("region", name="Figures by time")
        assert by_time.evaluate(CUT_OFF) == 0
        reader.page.set_viewport_size({"width": 360, "height": 800})
        reader.open("/sessions/")
        assert reader.page.locator(".topbar-end > .segments").evaluate(CUT_OFF) == 0
