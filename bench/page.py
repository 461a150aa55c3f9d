"""The Live page in a browser: `python -m bench.page`. Prints a table in markdown.

Shows a hundred rows that change ten times a second, next to a growing stream of 3,000 chunks, and measures how long
Chromium's main thread is busy without a pause and how much memory the page takes over five minutes.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from playwright.sync_api import CDPSession, Page, sync_playwright

from bench import gateways
from bench.live import start_load
from tests.services import chromium_program

_STEP_SECONDS = 20.0
_TRACE_SECONDS = 20.0
_TASK = "RunTask"
_LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((list) => list.getEntries().forEach((entry) => window.longTasks.push(entry.duration)))
  .observe({ type: "longtask" });
"""


@dataclass
class Memory:
    """What the page uses after a garbage collection."""

    seconds: float
    heap_mb: float
    nodes: int
    listeners: int


@contextmanager
def chromium_page() -> Iterator[Page]:
    """A page of the installed Chromium that records its long tasks."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(_LONG_TASKS)
        yield page
        browser.close()


def memory(session: CDPSession, began: float) -> Memory:
    """Collect garbage and measure."""
    session.send("HeapProfiler.collectGarbage")
    found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    heap = found["JSHeapUsedSize"] / 2**20
    return Memory(monotonic() - began, heap, int(found["Nodes"]), int(found["JSEventListeners"]))


def longest_task(page: Page) -> tuple[float, float]:
    """The longest task of the page's main thread in a trace, in wall-clock and CPU time (ms): the difference is time
    during which other processes had the CPU."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        assert page.context.browser
        page.context.browser.start_tracing(page=page, path=path, categories=["toplevel", "__metadata"])
        page.wait_for_timeout(_TRACE_SECONDS * 1000)
        page.context.browser.stop_tracing()
        events = json.loads(path.read_bytes())["traceEvents"]
    mains = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    tasks = [each for each in events if _TASK in each["name"] and (each["pid"], each["tid"]) in mains]
    clock, cpu = (max((each.get(name, 0) / 1000 for each in tasks), default=0.0) for name in ("dur", "tdur"))
    return clock, cpu


def watch(page: Page, link: str, streams: int, seconds: float) -> tuple[tuple[float, float], list[Memory]]:
    """Open a stream next to the list and keep watching; returns the longest task (ms) of a trace taken at the end, when
    the stream is longest, and memory sampled from time to time."""
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.goto(link.split("/sign-in/")[0])
    rows = "(n) => document.querySelectorAll('#group-running > li').length >= n"
    page.wait_for_function(rows, arg=streams, timeout=120_000)
    page.locator("#group-running .row-link").last.click()
    page.wait_for_selector("#peek #b0-text")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.evaluate("window.longTasks.length = 0")
    began = monotonic()
    steps = [memory(session, began)]
    while steps[-1].seconds < seconds - _TRACE_SECONDS:
        page.wait_for_timeout(_STEP_SECONDS * 1000)
        steps.append(memory(session, began))
    return longest_task(page), [*steps, memory(session, began)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=280.0, help="a stream lasts 300 seconds")
    asked = parser.parse_args()
    with gateways.upstream(None) as upstream, gateways.streamviz(upstream.port, None) as ours, chromium_page() as page:
        load = start_load(ours, "story", asked.streams, 1.0)
        longest, steps = watch(page, ours.sign_in_link, asked.streams, asked.seconds)
        long_tasks = page.evaluate("window.longTasks")
        shown = page.evaluate("document.querySelector('#peek #b0-text').textContent.length")
        load.kill()
        load.wait()
    print(f"{asked.streams} rows, and a stream beside them that had {shown:,} characters in the end\n")
    print(f"longest task in a trace of {_TRACE_SECONDS:.0f} s: {longest[0]:.0f} ms, {longest[1]:.0f} ms of CPU time")
    over = f"{len(long_tasks)}, the longest {max(long_tasks, default=0):.0f} ms"
    print(f"tasks over 50 ms in {steps[-1].seconds:.0f} s: {over}\n")
    print("| after s | JS heap MB | DOM nodes | listeners |\n|---:|---:|---:|---:|")
    for step in steps:
        print(f"| {step.seconds:.0f} | {step.heap_mb:.1f} | {step.nodes:,} | {step.listeners:,} |")


if __name__ == "__main__":
    main()
