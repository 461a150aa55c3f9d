"""Links to the turns of a session, which keep the rest of the URL."""

from typing import NamedTuple
from urllib.parse import urlencode

from streamviz.live.presentation.conversation import anchor
from streamviz.live.presentation.turn_tree import Turn


class TurnLinks(NamedTuple):
    """For a page of turns: those `after` a place, with idle time cut out of the drawing or not."""

    after: str
    is_cut: bool

    def to(self, turn: Turn) -> str:
        """The URL of the page with this turn selected, and in view."""
        return f"?{self._query(turn=turn.number)}#{anchor(turn.number)}"

    def with_time(self, turn: Turn, *, is_cut: bool) -> str:
        """The URL of the same page with the drawing's idle time cut out, or to scale."""
        return f"?{self._replace(is_cut=is_cut)._query(turn=turn.number)}"

    def _query(self, **more: str) -> str:
        kept = {"after": self.after} if self.after else {}
        return urlencode({**kept, **({} if self.is_cut else {"time": "scale"}), **more})
