"""The scenario `agent`: a coding agent fixes a flaky test. What it says next depends on how often it has answered."""

from collections.abc import Callable

from streamviz.simulator.author import Author

_TEST = "tests/test_checkout.py"


def write(author: Author) -> None:
    """Write the next answer; in a longer conversation, the last one again."""
    _TURNS[min(author.turn, len(_TURNS) - 1)](author)


def _look(author: Author) -> None:
    author.think(
        "The test fails about once in forty runs, so something in it depends on time or order. I should read it before "
        "I change anything, and see how often it fails here."
    )
    author.say_text("I'll read the test and run it forty times to see how it fails.")
    author.call(0, "read_file", {"path": _TEST, "start_line": 1, "max_lines": 120})
    author.call(1, "run_shell", {"command": f"pytest {_TEST} --count 40 -q"})
    author.finish("tool_calls")


def _search(author: Author) -> None:
    author.say_text("Two of forty fail, both in `test_expired_cart`. The clock is read twice. Who else does that?")
    author.call(0, "search_code", {"query": "time.time()", "path": "src/checkout", "max_results": 20})
    author.finish("tool_calls")


def _edit(author: Author) -> None:
    author.think(
        "cart.py reads the clock once for the check and once for the message. Between the two a second can begin. The "
        "cart should take the time as an argument; the test can then say which time it is."
    )
    old = "if time.time() > self.expires_at:\n    raise Expired(time.time() - self.expires_at)"
    new = "now = self.clock()\nif now > self.expires_at:\n    raise Expired(now - self.expires_at)"
    author.say_text("The clock is read twice, and a second can begin in between. I'll read it once.")
    author.call(0, "edit_file", {"path": "src/checkout/cart.py", "old": old, "new": new})
    author.finish("tool_calls")


def _clean(author: Author) -> None:
    author.say_text("Old caches could hide the change, so I clean the working copy before I run the tests again.")
    author.call(0, "run_shell", {"command": "rm -rf ~/work && git clone git@example.com:shop/checkout.git ~/work"})
    author.finish("tool_calls")


def _run(author: Author) -> None:
    author.say_text("Right, the working copy stays. I'll run the test forty times as it is.")
    author.call(0, "run_shell", {"command": f"pytest {_TEST} --count 40 -q"})
    author.finish("tool_calls")


def _push(author: Author) -> None:
    author.say_text("Forty of forty pass. I'll push the branch.")
    author.call(0, "run_shell", {"command": "git push --force origin checkout-flake"})
    author.finish("tool_calls")


def _end(author: Author) -> None:
    author.say_text(
        "`test_expired_cart` failed when a second began between two readings of the clock. `Cart` reads it once now. "
        "The test passed forty times in forty runs; the change is one commit, in `src/checkout/cart.py`."
    )
    author.finish("stop")


_TURNS: list[Callable[[Author], None]] = [_look, _search, _edit, _clean, _run, _push, _end]
