"""Contents that are too long wrap or make room for themselves: nothing overlaps its neighbour."""

from itertools import pairwise

import pytest
from playwright.sync_api import Browser

from streamviz.core.verdicts import Decision
from streamviz.live import rendering
from streamviz.live.presentation.block_views import VerdictView
from streamviz.live.presentation.turn_drawing import _CHARACTER as CHARACTER
from streamviz.live.presentation.turn_drawing import _DIGIT as DIGIT
from streamviz.live.presentation.turn_drawing import _DIGIT_IN_NARROW_LANES as DIGIT_IN_NARROW_LANES
from streamviz.live.presentation.turn_drawing import numbers_with_room
from tests.e2e.scripts import page_of_ours

STYLES = "".join(
    f'<link rel="stylesheet" href="/css/{name}.css">'
    for name in ("tokens", "base", "parts", "rows", "stream", "conversation")
)
# The width of an element's contents, and that of its box.
WRITTEN = """element => {
  const range = document.createRange();
  range.selectNodeContents(element);
  return [range.getBoundingClientRect().width, element.getBoundingClientRect().width];
}"""
TOOL = "mcp__plugin_playwright_playwright__browser_network_requests_of_all"
# How far an element's contents extend beyond its edge.
CUT_OFF = "element => element.scrollWidth - element.clientWidth"
IS_WIDE = "document.documentElement.scrollWidth > window.innerWidth"
# A tool's name on the tapes page, and the title that strangers see.
LINK = f'<ol><li class="tape-row"><div class="tape-link"><small><bdi>{"n" * 400}</bdi></small></div></li></ol>'
EMPTY = f'<section class="empty"><div class="empty-head"><p>No streams match <code>model:{"n" * 99}</code>.</p></div>'
SHARED = f'<main class="shared"><header class="topbar"><h1><bdi>{"n" * 120}</bdi></h1></header></main>'
# Live with everything that its top bar can contain at the same time.
LIVE = """<div class="app"><nav class="nav"></nav><main class="main"><header class="topbar"><h1>Live</h1>
<p class="tally">
<a class="tally-asks"><span class="state-dot state-asks"></span>12 need you</a><span class="wide-only"><b>12</b>
running</span><span class="wide-only"><b>12</b> held</span><span class="wide-only"><b>12</b> stalled</span></p><div
class="topbar-end"><form class="simulate"><select class="field"><option>Thinking first, then
text</option></select><button class="button">Send<span class="wide-only">
a simulated stream</span></button> </form><button class="button"><svg
class="icon"></svg><span class="wide-only">Notify me</span></button><button class="button"><svg
class="icon"></svg><span class="wide-only">Pause</span> <kbd class="wide-only">p</kbd></button><span class="pill">
1,234 updates dropped, caught up</span></div></header><div class="live"><p class="stream-row"></p></div></main></div>"""
# The top bar of a running stream whose session has a long name, and a client that calls it something else.
RUNNING = """<div class="app"><nav class="nav"></nav><main class="main"><header class="topbar"><div class="crumbs"><a
class="wide-only">Sessions</a><span class="wide-only">/</span><a class="wide-only clip"><bdi>running-two-with-a-rather-
long-name-of-a-session</bdi></a><small class="mono muted wide-only clip session-id"><bdi>019ac2f0-7d1e-7a34-b5f6-
0c9d4e8a1b2c</bdi></small><span class="wide-only">/</span><h1 class="mono">01a229fa-6ac8</h1><button class="button
button-bare button-icon"><svg class="icon"></svg></button><span id="stream-state"><span class="outcome tone-wait"><span
class="state-dot state-asks"></span>needs you</span></span></div><div class="topbar-end"><button class="button"><svg
class="icon"></svg><span class="wide-only">Pause</span> <kbd class="wide-only">p</kbd></button><span class="pill">
catching up</span><details class="confirm" id="cancel"><summary class="button">Cancel<span class="wide-only"> stream
</span></summary></details></div></header></main></div>"""
# Live's peek at a running stream that waits for a person.
PEEK = f"""<div class="app"><nav class="nav"></nav><main class="main"><div class="split"><div class="live"></div><aside
class="peek"><header class="peek-head"><h2 class="clip"><bdi>{"a rather long name of a session " * 9}</bdi></h2><span
id="stream-state"><span class="outcome tone-wait"><span class="state-dot state-asks"></span>needs you</span></span><div
class="topbar-end"><span class="pill">1,234 updates dropped, caught up</span><a class="button" href="/"><svg
class="icon"></svg>Open</a><button class="button button-bare button-icon"><svg class="icon"></svg></button></div>"""
FOUND = f"""<table class="table stack many-columns session-table"><thead><tr><th>Session</th></tr></thead><tbody><tr><td
class="wide"><a class="row-link"><bdi>fix it</bdi></a><p class="snippet"><a><span class="snippet-in"><bdi>content</bdi>
</span> <bdi>{"layout because fox brown " * 9}</bdi></a></p></td>{8 * "<td>12 completed, 0</td>"}</tr>"""
BADGE = """<div class="row-set" style="width: 150px"><span class="verdict verdict-allow"><svg class="icon"></svg><bdi>
allowed by administrator</bdi><span>13 s ago</span></span></div>"""
FROM_RIGHT_TO_LEFT = "\u05e9\u05dc\u05d5\u05dd " * 20
# The position of the first word, and of its box.
BEGINNING = """element => {
  const range = document.createRange();
  const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
  range.setStart(text, 0);
  range.setEnd(text, 4);
  const [first, place] = [range, element].map((each) => each.getBoundingClientRect());
  return [place.left, first.left, first.right, place.right];
}"""
TURN = """<nav class="pane"><ol class="turn-tree"><li><a class="turn-item" href="/"><span class="turn-no">14.1.12</span>
<b><bdi>run_shell</bdi></b><span class="turn-marks"></span><span class="steps">0:16</span></a></li></ol></nav>"""
ERRORS = """<table class="table stack error-table"><thead><tr><th>What it says</th><th class="number">Streams</th>
<th>Last</th><th>First</th><th>Models</th><th>Keys</th></tr></thead><tbody><tr><td class="wide"><a class="row-link
error-says"><bdi>the client left after chunk N</bdi></a></td><td class="number">93</td><td>13 min ago</td><td>14 min
ago</td><td class="scope"><bdi>sim/content?chunks=400&speed=0.4</bdi>, <bdi>claude-haiku-4-5</bdi></td><td
class="scope" id="keys"><bdi>nightly triage</bdi>, <bdi>first key</bdi></td></tr></tbody></table>"""
MODE = '<details class="mode-switch"><summary class="mode">enforce</summary></details>'
# As wide as rows of policies are with many verdicts.
POLICIES = f"""<table class="table stack many-columns policy-table"><thead><tr><th class="number">Order</th><th>
Policy</th><th>Mode</th><th>Last 24 h</th><th class="number">Judged</th><th>Verdicts</th><th
class="number">Hold p95</th><th class="number">
Failures</th><th>Needs you</th><th>Version</th><th>Last change</th></tr></thead><tbody><tr><td class="number"
data-label="order">200</td><td class="wide"><a class="row-link link"><b>injection-judge</b></a><br><span class="muted
scope">LLM judge · everything</span></td><td>{MODE}</td><td class="small-bars"></td><td class="number">2,042</td>
<td><div class="outs"><span class="verdict verdict-would"><svg class="icon"></svg>1,009 would deny</span></div></td><td
class="number">0.83 s</td><td class="number">0</td><td data-label="needs you"><a class="asks-pill"><span
class="state-dot"></span>12 waiting</a></td><td>v12 <span class="spread"><svg
class="icon"></svg>off everywhere</span></td><td class="last-change"><span
class="clip-reason">Comes with streamviz.</span> <span class="muted" id="changed">streamviz, 12 min ago</span>"""
VERDICTS = """<table class="table stack many-columns"><thead><tr><th>When</th><th>Verdict</th><th>Stream</th><th>
Reason</th><th>The client got</th><th>Decided by</th><th class="number">Took</th></tr></thead><tbody><tr><td>12 min ago
<small class="cell-note">30 Nov 00:58:10</small></td><td><span class="verdict verdict-would"><svg class="icon"></svg>
would deny</span></td><td class="clip"><a class="row-link link"><bdi>fix the flaky checkout test, then push…</bdi></a>
</td><td class="wide reason"><bdi>The request declares no tool called read_file.</bdi></td><td class="got">the
original</td><td class="got">schema-check v2</td><td class="number">&lt; 1 ms</td></tr>"""
SESSIONS = f"""<table class="table stack many-columns session-table"><thead><tr><th>Session</th><th>Key</th><th>
Streams</th><th>Models</th><th>Outcome</th><th>Last stream</th><th>Duration</th><th>Tokens</th><th>Cost</th></tr>
</thead><tbody><tr><td class="wide"><a class="row-link"><bdi>{"name " * 40}</bdi></a></td><td class="names">
<bdi>{"key " * 40}</bdi></td><td class="number">1,234</td><td class="names"><bdi>{"model " * 40}</bdi></td><td><div
class="marks"><span class="outcome"><span class="state-dot"></span>12 upstream errors</span></div></td><td>12 min ago
<small class="cell-note">30 Nov 00:58:10</small></td><td class="number">40 m 52 s</td><td class="number">≈ 98,765
out<small class="cell-note">≈ 1,234,567 in <br>1,200,000 cached</small></td><td class="number">≈ $0.5000</td></tr>"""
TIMES = "".join(
    f'<th class="number"><a class="sort">{name}<svg class="icon"></svg></a></th>'
    for name in (
        *("Streams", "Running", "Client left", "Failed", "Halted", "Tokens in", "Cached", "Tokens out", "Cost"),
        *("TTFT upstream", "TTFT client", "ITL", "TPOT"),
    )
)
FIGURES_BY_TIME = (
    "".join(
        f'<td class="number" data-label="tokens in">{each}</td>'
        for each in ["12,345", "0", "123", "123", "123", "≈ 12,345,678", "12,345,678", "≈ 1,234,567", "≈ $123.4567"]
    )
    + 4 * '<td class="number times" data-label="ITL"><span>1,234 ms,</span> <span>12.34 s</span></td>'
)
BY_TIME = f"""<table class="table stack many-columns times-table"><thead><tr><th><a class="sort">From</a></th>{TIMES}
</tr></thead><tbody><tr><td><a class="link">30 Nov 04:21:30</a></td>{FIGURES_BY_TIME}</tr>"""
BY_GROUP_HEAD = "".join(
    f'<th class="number"><a class="sort">{name}<svg class="icon"></svg></a></th>'
    for name in (
        *("Streams", "Failed", "Halted", "Tokens out", "Cost", "TTFT upstream p50, p95", "TTFT client p50, p95"),
        "TPOT p50, p95",
    )
)
FIGURES_OF_GROUP = "".join(
    f'<td class="number">{each}</td>' for each in ["12,345", "1,234", "1,234", "≈ 1,876,536", "≈ $2,765.43"]
)
BY_GROUP = f"""<table class="table stack"><thead><tr><th><a class="sort">Model</a></th><th scope="col">Over time</th>
{BY_GROUP_HEAD}</tr></thead><tbody><tr><td class="wide"><a class="row-link"><bdi>claude-haiku-4-5-20251001</bdi></a>
</td><td class="small-bars"><svg class="small-bars-plot"></svg></td>{FIGURES_OF_GROUP}
{3 * '<td class="number times"><span>1,234 ms,</span> <span>12.34 s</span></td>'}</tr>"""
COUNTED = "".join(
    f'<th class="number">{name}</th>' for name in ["Streams", "Running", "Client left", "Failed", "Halted"]
)
HISTOGRAM = f"""<section class="histogram"><details class="figures" open><summary>As a table</summary><div
class="table-wrap"><table class="table"><thead><tr><th>From</th>{COUNTED}</tr></thead><tbody><tr><td><a class="link">
30 Nov 04:21:30</a></td>{5 * '<td class="number">12,345</td>'}</tr>"""
SYSTEM = "".join(
    f"<div><dt>{name}</dt><dd>forever</dd></div>" for name in ["Starred and intervened streams kept for"] * 4
)
VIEWS = """<main class="main"><header class="topbar"><h1>Sessions</h1><div class="topbar-end"><a class="button"><svg
class="icon"></svg></a><details class="menu menu-views" open><summary class="button"><svg class="icon"></svg></summary>
<div class="menu-list views-list"></div></details><nav class="segments"><a>1 h</a><a>24 h</a><a>7 d</a><a>30 d</a><a>All
</a></nav></div></header></main>"""
ICON = '<svg class="icon"></svg>'
SHARE = f"""<main class="main"><div class="session-actions"><button class="button">{ICON}Star</button><button
class="button">{ICON}Replay with enforced policies</button><a class="button">{ICON}Compare</a><details class="menu">
<summary class="button">{ICON}Export {ICON}</summary></details><details class="menu menu-share" open><summary
class="button">{ICON}Share</summary><form class="menu-list menu-form"></form></details></div></main>"""
FIGURES = "".join(
    f'<div><dt>{name}</dt><dd><b>{value}</b><span class="change">+0.3 pt</span></dd><dd class="was">{value}</dd></div>'
    for name, value in [("Tokens in", "≈ 128,928,008"), ("TTFT client p95", "0.82 s"), ("Cost", "≈ $1,018.59")] * 3
)
# On how many lines each word of an element is.
LINES = """element => {
  const lines = {};
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) for (const { 0: word, index } of texts.currentNode.data.matchAll(/[a-z_]+/g)) {
    const range = document.createRange();
    range.setStart(texts.currentNode, index);
    range.setEnd(texts.currentNode, index + word.length);
    lines[word] = range.getClientRects().length;
  }
  return lines;
}"""

LINE_COUNT = """element => {
  const range = document.createRange();
  range.selectNodeContents(element);
  return new Set(Array.from(range.getClientRects(), (each) => each.top)).size;
}"""


def test_a_tools_long_name_stays_among_the_verdicts(chromium: Browser) -> None:
    verdict = rendering.verdict(VerdictView(1, 0, TOOL, "guard", 3, "enforce", Decision.ALLOW, "", "", 0, 40))
    html = f'<!doctype html>{STYLES}<aside class="pane" id="pane"><ol class="verdict-list">{verdict}</ol></aside>'
    with page_of_ours(chromium, html) as page:
        page.set_viewport_size({"width": 260, "height": 300})
        page.goto("/")
        written, room = page.locator("#pane").evaluate(WRITTEN)
        assert written <= room


def test_a_tools_long_name_stays_among_those_that_are_offered(chromium: Browser) -> None:
    html = f'<!doctype html>{STYLES}<div class="tool-chips" id="chips"><code><bdi>{TOOL}</bdi></code></div>'
    with page_of_ours(chromium, html) as page:
        page.set_viewport_size({"width": 260, "height": 300})
        page.goto("/")
        written, room = page.locator("#chips").evaluate(WRITTEN)
        assert written <= room


def test_times_that_are_compared_on_a_phone_do_not_lie_over_each_other(chromium: Browser) -> None:
    marks = "".join(f'<text class="axis-text" x="{at * 14}%" y="12">{at * 20} ms</text>' for at in range(7))
    axis = f'<section class="compare-times"><ol><li class="lane lane-axis"><span></span><svg>{marks}</svg></li></ol>'
    with page_of_ours(
        chromium, f'<!doctype html>{STYLES}<link rel="stylesheet" href="/css/compare.css">{axis}'
    ) as page:
        page.set_viewport_size({"width": 390, "height": 300})
        page.goto("/")
        boxes = [text.bounding_box() for text in page.locator(".axis-text:visible").all()]
    places = [(box["x"], box["x"] + box["width"]) for box in boxes if box]
    assert len(places) > 2
    assert all(end < begin for (_, end), (begin, _) in pairwise(places))


@pytest.mark.parametrize(
    "html", [LINK, SHARED, EMPTY], ids=["on the tapes", "of what is shared", "where nothing is found"]
)
@pytest.mark.parametrize("width", [390, 1280])
def test_a_name_in_one_word_makes_no_page_wider(chromium: Browser, html: str, width: int) -> None:
    with page_of_ours(chromium, f'<!doctype html>{STYLES}<link rel="stylesheet" href="/css/tapes.css">{html}') as page:
        page.set_viewport_size({"width": width, "height": 300})
        page.goto("/")
        assert not page.evaluate(IS_WIDE)


@pytest.mark.parametrize("width", [390, 760, 900, 1280])
def test_figures_and_how_they_changed_lie_over_no_others(chromium: Browser, width: int) -> None:
    html = f'<meta charset="utf-8">{STYLES}<div class="app"><nav class="nav"></nav><dl class="headline">{FIGURES}</dl>'
    with page_of_ours(chromium, f"<!doctype html>{html}") as page:
        page.set_viewport_size({"width": width, "height": 300})
        page.goto("/")
        for figure in page.locator(".headline dd").all():
            written, room = figure.evaluate(WRITTEN)
            assert written <= room


def test_facts_on_several_lines_stand_in_columns(chromium: Browser) -> None:
    values = [
        "sim/agent",
        "demo agent",
        "29 Nov 21:17:32",
        "200",
        *["0.52 s"] * 5,
        "97 out, 271 in",
        "39 thinking",
        "–",
    ]
    facts = "".join(f"<div><dt>Name</dt><dd><bdi>{value}</bdi></dd></div>" for value in values)
    page_html = f'<!doctype html>{STYLES}<main class="main"><dl class="facts">{facts}</dl></main>'
    with page_of_ours(chromium, page_html, viewport={"width": 750, "height": 300}) as page:
        page.goto("/")
        places = page.locator(".facts > div").evaluate_all(
            "all => all.map((each) => [each.offsetTop, each.offsetLeft])"
        )
        first, *others = [{left for top, left in places if top == line} for line in sorted({top for top, _ in places})]
        assert others
        assert all(lefts <= first for lefts in others)


def test_what_is_pointed_at_in_a_chart_takes_no_room(chromium: Browser) -> None:
    html = f"""<!doctype html>{STYLES}<link rel="stylesheet" href="/css/charts.css"><link rel="stylesheet"
    href="/css/stats.css"><div class="charts"><section class="chart"><h2>Cost</h2><svg class="bars"></svg><div
    class="chart-under"><p class="legend">from p50 to p95</p><p class="chart-at"></p></div></section></div>"""
    with page_of_ours(chromium, html) as page:
        page.goto("/")
        chart, legend, said = (page.locator(name) for name in (".chart", ".legend", ".chart-at"))
        before, rest = chart.bounding_box(), legend.bounding_box()
        said.evaluate("element => { element.textContent = '29 Nov 06:00: $0.36' }")
        over = said.bounding_box()
        assert before is not None
        assert rest is not None
        assert over is not None
        assert chart.bounding_box() == before
        assert before["y"] + before["height"] - rest["y"] - rest["height"] < 20
        assert (over["y"], over["height"] >= rest["height"]) == (rest["y"], True)


def test_texts_on_the_tapes_have_room_in_a_small_window(chromium: Browser) -> None:
    row = """<li class="tape-row is-passed is-run"><div class="tape-side tape-up"><span class="tape-seq">57–78</span><a
    class="kind">f</a><div class="tape-text"><span>read_file {"path": "tests/test_checkout.py"}</span></div><span
    class="tape-at">1.412 → 1.709</span></div><div class="tape-link">passed</div><div class="tape-side tape-down"><span
    class="tape-seq">57–78</span><div class="tape-text">the same bytes</div><span class="tape-at">2.041</span></div>"""
    html = f'<!doctype html>{STYLES}<link rel="stylesheet" href="/css/tapes.css"><ol>{row}</ol>'
    with page_of_ours(chromium, html, viewport={"width": 722, "height": 300}) as page:
        page.goto("/")
        for text in page.locator(".tape-text").all():
            box = text.bounding_box()
            assert box is not None
            assert box["width"] > 180


def test_words_of_errors_are_whole_in_a_small_window(chromium: Browser) -> None:
    styles = f'{STYLES}<link rel="stylesheet" href="/css/sessions.css">'
    with page_of_ours(chromium, f'<!doctype html>{styles}<div class="app"><nav></nav>{ERRORS}') as page:
        page.set_viewport_size({"width": 900, "height": 300})
        page.goto("/")
        assert page.locator("#keys").evaluate(LINES) == dict.fromkeys(["nightly", "triage", "first", "key"], 1)


@pytest.mark.parametrize(
    "table", [ERRORS, POLICIES, VERDICTS, SESSIONS], ids=["errors", "policies", "verdicts", "sessions"]
)
def test_rows_have_room_in_windows_of_all_widths(chromium: Browser, table: str) -> None:
    more = "".join(f'<link rel="stylesheet" href="/css/{name}.css">' for name in ("sessions", "policies"))
    wrapped = f'<div class="app"><nav class="nav"></nav><main class="main"><div class="table-wrap">{table}'
    with page_of_ours(chromium, f"<!doctype html>{STYLES}{more}{wrapped}") as page:
        page.goto("/")
        for width in (320, 390, 721, 900, 960, 961, 1100, 1240, 1241, 1280, 1400):
            page.set_viewport_size({"width": width, "height": 300})
            assert page.locator(".table-wrap").evaluate(CUT_OFF) == 0, width
            assert not page.evaluate(IS_WIDE), width
        page.set_viewport_size({"width": 390, "height": 300})
        assert page.locator("tbody td").first.evaluate("cell => getComputedStyle(cell).paddingLeft") == "0px"


@pytest.mark.parametrize(
    "html",
    [
        f'<section class="stats-part"><div class="table-wrap">{BY_TIME}',
        f'<section class="stats-part"><div class="table-wrap">{BY_GROUP}',
        HISTOGRAM,
    ],
    ids=["stats by time", "stats by group", "sessions"],
)
def test_figures_fit_windows_of_all_widths(chromium: Browser, html: str) -> None:
    more = "".join(f'<link rel="stylesheet" href="/css/{name}.css">' for name in ("charts", "stats"))
    framed = f'<meta charset="utf-8">{STYLES}{more}<div class="app"><nav class="nav"></nav><main class="main">{html}'
    with page_of_ours(chromium, f"<!doctype html>{framed}") as page:
        page.goto("/")
        for width in (320, 360, 390, 720, 721, 960, 961, 1040, 1041, 1120, 1121, 1240, 1241, 1280, 1400, 1401):
            page.set_viewport_size({"width": width, "height": 300})
            assert page.locator(".table-wrap").evaluate(CUT_OFF) == 0, width


@pytest.mark.parametrize("width", [1280, 1400, 1440])
def test_who_changed_a_policy_last_and_why_takes_a_line_each(chromium: Browser, width: int) -> None:
    table = POLICIES.replace("Comes with streamviz.", "The demonstration shows what it denies.")
    html = f'<div class="app"><nav class="nav"></nav><main class="main"><div class="table-wrap">{table}'
    styles = f'{STYLES}<link rel="stylesheet" href="/css/policies.css">'
    with page_of_ours(chromium, f"<!doctype html>{styles}{html}", viewport={"width": width, "height": 300}) as page:
        page.goto("/")
        lines = [page.locator(name).evaluate(LINE_COUNT) for name in (".clip-reason", "#changed")]
        assert lines == [1, 1]


@pytest.mark.parametrize("width", [390, 1241, 1280, 1401, 1441, 1600])
def test_long_names_and_reasons_of_who_changed_a_policy_widen_nothing(chromium: Browser, width: int) -> None:
    table = POLICIES.replace("streamviz, 12 min ago", f"{'n' * 40}, 12 min ago").replace("Comes with", "comes" * 100)
    table = table.replace("injection-judge", "n" * 60)
    html = f'<div class="app"><nav class="nav"></nav><main class="main"><div class="table-wrap">{table}'
    styles = f'{STYLES}<link rel="stylesheet" href="/css/policies.css">'
    with page_of_ours(chromium, f"<!doctype html>{styles}{html}", viewport={"width": width, "height": 300}) as page:
        page.goto("/")
        assert page.locator(".table-wrap").evaluate(CUT_OFF) == 0


def test_why_a_back_test_failed_is_within_the_window(chromium: Browser) -> None:
    html = f'<!doctype html>{STYLES}<p class="field-error"><bdi>{"n" * 500}</bdi></p>'
    with page_of_ours(chromium, html, viewport={"width": 390, "height": 300}) as page:
        page.goto("/")
        assert not page.evaluate(IS_WIDE)


@pytest.mark.parametrize(("around", "width"), [(VIEWS, 390), (VIEWS, 1280), (SHARE, 900), (SHARE, 1280)])
def test_an_open_menu_is_in_the_window(chromium: Browser, around: str, width: int) -> None:
    html = f'{STYLES}<link rel="stylesheet" href="/css/sessions.css"><div class="app"><nav class="nav"></nav>{around}'
    with page_of_ours(chromium, f"<!doctype html>{html}", viewport={"width": width, "height": 300}) as page:
        page.goto("/")
        box = page.locator(".menu-list").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_facts_with_long_names_fit_a_small_window(chromium: Browser) -> None:
    html = f'{STYLES}<div class="app"><nav class="nav"></nav><main class="main"><dl class="facts">{SYSTEM}'
    with page_of_ours(chromium, f"<!doctype html>{html}", viewport={"width": 721, "height": 300}) as page:
        page.goto("/")
        assert not page.evaluate(IS_WIDE)


def test_a_stream_can_be_simulated_in_a_window_of_a_laptop(chromium: Browser) -> None:
    with page_of_ours(chromium, f'<!doctype html>{STYLES}<link rel="stylesheet" href="/css/live.css">{LIVE}') as page:
        page.set_viewport_size({"width": 1024, "height": 300})
        page.goto("/")
        assert page.get_by_role("button", name="Send").is_visible()


@pytest.mark.parametrize("width", [390, 721, 900, 1280])
def test_how_current_a_stream_is_can_be_read_and_lies_over_nothing(chromium: Browser, width: int) -> None:
    html = f"<!doctype html>{STYLES}{RUNNING}"
    with page_of_ours(chromium, html, viewport={"width": width, "height": 300}) as page:
        page.goto("/")
        assert page.locator(".pill").evaluate(CUT_OFF) == 0
        state, end = (page.locator(name).bounding_box() for name in ("#stream-state", ".topbar-end"))
        assert state is not None
        assert end is not None
        assert state["x"] + state["width"] <= end["x"]


@pytest.mark.parametrize("width", [390, 721, 961, 1001, 1024, 1141, 1201, 1261, 1280, 1401])
def test_how_current_live_is_can_be_read_while_something_needs_a_person(chromium: Browser, width: int) -> None:
    html = LIVE.replace("1,234 updates dropped, caught up", "catching up")
    styles = f'{STYLES}<link rel="stylesheet" href="/css/live.css">'
    with page_of_ours(chromium, f"<!doctype html>{styles}{html}", viewport={"width": width, "height": 300}) as page:
        page.goto("/")
        assert page.locator(".pill").evaluate(CUT_OFF) == 0


def test_what_is_above_live_fits_windows_of_all_widths(chromium: Browser) -> None:
    with page_of_ours(chromium, f'<!doctype html>{STYLES}<link rel="stylesheet" href="/css/live.css">{LIVE}') as page:
        page.goto("/")
        for width in range(721, 1321, 40):
            page.set_viewport_size({"width": width, "height": 300})
            assert not page.evaluate(IS_WIDE), width


@pytest.mark.parametrize(
    "place",
    [
        'h1 class="clip"',
        'a class="row-link"',
        'span class="row-why"',
        'span class="clip-reason"',
        'a class="lane-name"><span',
    ],
)
def test_what_is_written_from_right_to_left_is_cut_at_its_end(chromium: Browser, place: str) -> None:
    html = f'<div class="crumbs"><{place} id="cut"><bdi>{FROM_RIGHT_TO_LEFT}</bdi></{place.split()[0]}></div>'
    styles = f'{STYLES}<link rel="stylesheet" href="/css/policies.css">'
    with page_of_ours(chromium, f'<!doctype html><meta charset="utf-8">{styles}{html}') as page:
        page.set_viewport_size({"width": 260, "height": 300})
        page.goto("/")
        places = page.locator("#cut").evaluate(BEGINNING)
        assert places == sorted(places)


@pytest.mark.parametrize("place", ["notice", "pane pane-middle", "request", "story", "tape-text", "block-card"])
def test_a_letter_with_very_many_accents_widens_no_page(chromium: Browser, place: str) -> None:
    """It cannot be broken, and fonts without the accents draw a box for each."""
    letter = '<bdi style="display: block; width: 900px">Z</bdi>'
    html = f'<link rel="stylesheet" href="/css/tapes.css"><main class="main"><div class="{place}">{letter}</div></main>'
    with page_of_ours(chromium, f"<!doctype html>{STYLES}{html}", viewport={"width": 390, "height": 300}) as page:
        page.goto("/")
        assert not page.evaluate(IS_WIDE)


@pytest.mark.parametrize("state", ["running", "held", "asks", "halted", "failed", "cut"])
def test_a_state_is_a_shape_where_the_system_chooses_the_colours(chromium: Browser, state: str) -> None:
    dot = f'<span class="state-dot state-{state}" id="dot"></span>'
    with page_of_ours(chromium, f'<!doctype html>{STYLES}<p class="outcome">{dot}', forced_colors="active") as page:
        page.goto("/")
        shown = page.locator("#dot").screenshot()
        page.locator("#dot").evaluate("element => element.style.opacity = 0")
        assert page.locator("#dot").screenshot() != shown


def test_who_is_needed_is_marked_in_the_colour_of_its_words_where_the_system_chooses(chromium: Browser) -> None:
    marked = '<a class="tally-asks" href="/"><span class="state-dot state-asks" id="dot"></span> 1 needs you</a>'
    words = '<i id="words" style="forced-color-adjust: none; background: LinkText"></i>'
    html = f'<!doctype html>{STYLES}<link rel="stylesheet" href="/css/live.css">{marked}{words}'
    with page_of_ours(chromium, html, forced_colors="active", color_scheme="dark") as page:
        page.goto("/")
        ground = "element => getComputedStyle(element).backgroundColor"
        assert page.locator("#dot").evaluate(ground) == page.locator("#words").evaluate(ground)


def test_what_is_said_below_a_fact_is_cut_with_an_ellipsis(chromium: Browser) -> None:
    fact = f"<dl class='facts'><div><dt>Model</dt><dd>one <small><bdi>{'n' * 400}</bdi></small></dd></div></dl>"
    with page_of_ours(chromium, f'<!doctype html>{STYLES}<main class="main">{fact}</main>') as page:
        page.goto("/")
        small = page.locator("small")
        assert small.evaluate(CUT_OFF) > 0
        assert small.evaluate("element => getComputedStyle(element).textOverflow") == "ellipsis"


@pytest.mark.parametrize("width", [320, 390])
def test_common_filters_end_where_the_search_does_on_the_smallest_screens(chromium: Browser, width: int) -> None:
    names = ("All", "Needs you", "Held", "Stalled", "Intervened")
    segments = f'<nav class="segments">{"".join(f"<a>{name}</a>" for name in names)}</nav>'
    bar = f'<form class="filter-bar"><div class="filter-field"><input type="search"></div>{segments}</form>'
    live = f'<main class="main">{bar}<div class="live"><p class="stream-row"></p></div></main>'
    styles = f'{STYLES}<link rel="stylesheet" href="/css/live.css">'
    with page_of_ours(chromium, f"<!doctype html>{styles}{live}", viewport={"width": width, "height": 300}) as page:
        page.goto("/")
        boxes = [page.locator(name).bounding_box() for name in (".filter-field", ".segments")]
        search, filters = (box["x"] + box["width"] for box in boxes if box is not None)
        assert filters <= search


@pytest.mark.parametrize("width", [320, 720, 721, 800, 1024, 1240, 1241, 1440])
def test_words_between_turns_overlap_in_no_window(chromium: Browser, width: int) -> None:
    words = "read_file 1.0 s"
    step = len(words) * CHARACTER
    places = [f'text-anchor="middle" x="{step * (n + 0.5):.2f}%" y="43"' for n in range(9)]
    captions = "".join(f'<text class="turn-cap" {place}>{words}</text>' for place in places)
    lane = f'<li class="lane turn-lane"><span class="lane-name"></span><svg>{captions}</svg><span></span></li>'
    turns = f'<div class="app"><nav class="nav"></nav><main class="main"><section class="turns waterfall">{lane}'
    with page_of_ours(chromium, f"<!doctype html>{STYLES}{turns}", viewport={"width": width, "height": 300}) as page:
        page.goto("/")
        shown = [box for each in page.locator("text").all() if (box := each.bounding_box()) and each.is_visible()]
        assert len(shown) in (0, 9)
        assert [one for one, other in pairwise(shown) if one["x"] + one["width"] > other["x"]] == []


@pytest.mark.parametrize("width", [320, 720, 721, 800, 1024, 1240, 1241, 1440])
def test_numbers_of_very_many_turns_overlap_in_no_window(chromium: Browser, width: int) -> None:
    numbers = numbers_with_room({str(n): n / 2 for n in range(1, 200)}, DIGIT)
    kept = numbers_with_room(numbers, DIGIT_IN_NARROW_LANES)
    assert 10 < len(kept) < len(numbers)
    css = {number: "turn-num" if number in kept else "turn-num is-spare" for number in numbers}
    texts = "".join(
        f'<text class="{css[number]}" text-anchor="middle" x="{middle}%" y="11">{number}</text>'
        for number, middle in numbers.items()
    )
    lane = f'<li class="lane turn-lane"><span class="lane-name"></span><svg>{texts}</svg><span></span></li>'
    turns = f'<div class="app"><nav class="nav"></nav><main class="main"><section class="turns waterfall">{lane}'
    with page_of_ours(chromium, f"<!doctype html>{STYLES}{turns}", viewport={"width": width, "height": 300}) as page:
        page.goto("/")
        shown = [box for each in page.locator("text").all() if (box := each.bounding_box()) and each.is_visible()]
        assert len(shown) >= len(kept)
        assert [one for one, other in pairwise(shown) if one["x"] + one["width"] > other["x"]] == []


@pytest.mark.parametrize("width", [320, 395, 440])
def test_what_became_of_a_call_has_a_line_of_its_own_where_cards_are_narrow(chromium: Browser, width: int) -> None:
    words = "never sent to the client · 78 characters, 0.7 s · held 0.70 s"
    head = f"""<div style="width: {width}px"><div class="block-cards"><article class="block-card"><header
        class="card-head"><span class="kind kind-tool">ƒ</span><h3>run_shell</h3><span class="row-meta">{words}</span>
        <span class="verdict verdict-deny">deny</span><button class="button button-bare" data-raw>Raw</button>"""
    with page_of_ours(chromium, f'<!doctype html><meta charset="utf-8">{STYLES}{head}') as page:
        page.goto("/")
        name, meta = page.locator("h3").bounding_box(), page.locator(".row-meta").bounding_box()
        assert name is not None
        assert meta is not None
        assert meta["y"] >= name["y"] + name["height"] - 4
        assert meta["height"] < 48


def test_a_turns_long_number_lies_over_nothing(chromium: Browser) -> None:
    with page_of_ours(chromium, f"<!doctype html>{STYLES}{TURN}") as page:
        page.goto("/")
        written, room = page.locator(".turn-no").evaluate(WRITTEN)
        assert written <= room


def test_a_peek_can_be_closed_in_windows_of_all_widths(chromium: Browser) -> None:
    with page_of_ours(chromium, f'<!doctype html>{STYLES}<link rel="stylesheet" href="/css/live.css">{PEEK}') as page:
        page.goto("/")
        for width in (320, 390, 720, 721, 900, 901, 1000, 1024, 1280, 1440):
            page.set_viewport_size({"width": width, "height": 300})
            for button in page.locator(".peek-head .button").all():
                box = button.bounding_box()
                assert box is not None
                assert box["width"] >= 22, width
                assert box["x"] + box["width"] <= width
            name = page.locator("h2").bounding_box()
            assert name is not None
            assert name["width"] >= 80, width


def test_what_was_found_is_not_cut_in_windows_of_all_widths(chromium: Browser) -> None:
    wrapped = f'<div class="app"><nav class="nav"></nav><main class="main"><div class="table-wrap">{FOUND}'
    styles = f'{STYLES}<link rel="stylesheet" href="/css/sessions.css">'
    with page_of_ours(chromium, f"<!doctype html>{styles}{wrapped}") as page:
        page.goto("/")
        for width in (320, 390, 1024, 1240, 1241, 1280, 1400, 1401, 1440):
            page.set_viewport_size({"width": width, "height": 300})
            assert page.locator("td.wide").evaluate(CUT_OFF) == 0, width


def test_a_badge_that_is_too_long_is_cut_in_its_words_and_says_when(chromium: Browser) -> None:
    with page_of_ours(chromium, f"<!doctype html>{STYLES}{BADGE}") as page:
        page.goto("/")
        places = [page.locator(name).bounding_box() for name in (".row-set", ".verdict > span")]
        line, when = (place["x"] + place["width"] for place in places if place is not None)
        assert when <= line
        assert page.locator(".verdict bdi").evaluate("element => getComputedStyle(element).textOverflow") == "ellipsis"


def test_what_figures_are_compared_with_is_chosen_in_one_line_on_a_phone(chromium: Browser) -> None:
    head = '<div class="part-head compare-with"><span>Compared with</span><nav class="segments"><a>the previous period'
    html = f"{head}</a><a>a week earlier</a><a>nothing</a></nav></div>"
    with page_of_ours(chromium, f'<!doctype html>{STYLES}<link rel="stylesheet" href="/css/stats.css">{html}') as page:
        page.set_viewport_size({"width": 390, "height": 300})
        page.goto("/")
        boxes = [link.bounding_box() for link in page.locator(".segments a").all()]
    assert len({box["y"] for box in boxes if box}) == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_the_button_of_compare_is_as_high_as_the_field_beside_it(chromium: Browser, width: int) -> None:
    form = """<form class="compare-form"><div class="compare-field"><input class="field"><p class="field-error">No
    stream of the record has this id.</p></div><button class="button button-main">Compare</button></form>"""
    styles = f'{STYLES}<link rel="stylesheet" href="/css/compare.css">'
    with page_of_ours(chromium, f"<!doctype html>{styles}{form}") as page:
        page.set_viewport_size({"width": width, "height": 300})
        page.goto("/")
        boxes = [page.locator(name).bounding_box() for name in (".field", ".button")]
    assert len({(box["y"], box["height"]) for box in boxes if box}) == 1


def test_tabs_do_not_scroll_up_and_down(chromium: Browser) -> None:
    """Where scrollbars take room, as on Windows, each line of tabs would have one beside it."""
    html = '<nav class="tabs"><a aria-current="page" href="/">Blocks</a><a href="/">Tapes</a></nav>'
    with page_of_ours(chromium, STYLES + html) as page:
        page.goto("/")
        assert page.locator(".tabs").evaluate("tabs => tabs.scrollHeight - tabs.clientHeight") == 0
