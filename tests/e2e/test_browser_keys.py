"""The keyboard, on pages without a server."""

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.scripts import page_of_ours

TURNS = "".join(
    f'<li><a class="turn-item" href="?turn={number}"{" aria-current=true" if number == 2 else ""}>{number}</a></li>'
    for number in range(1, 5)
)
SESSION = f"""<!doctype html><body data-base="/"><main class="main"><ol class="turn-tree">{TURNS}</ol></main>
<script type="module">import {{ start }} from "/js/keys.js"; start(); document.title = "ready";</script>"""


@pytest.mark.parametrize(("keys", "turn"), [("j", 3), ("k", 1), ("jjj", 4), ("jk", 2)])
def test_j_and_k_go_from_the_turn_that_is_shown_to_others(chromium: Browser, keys: str, turn: int) -> None:
    with page_of_ours(chromium, SESSION) as page:
        page.goto("/")
        page.wait_for_function("document.title === 'ready'")
        for key in keys:
            page.keyboard.press(key)
        expect(page.get_by_role("link", name=str(turn))).to_be_focused()
