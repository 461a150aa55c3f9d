"""JSON that LiteLLM puts together from several lines of a stream, as some characters within a text end a line for it.

It looks at all that there is with each line that may be the last one: that takes seconds a megabyte of short lines, and
nothing bounds how many there are.
"""

from litellm.litellm_core_utils.json_fragment_accumulator import JSONFragmentAccumulator
from litellm.llms.anthropic.chat import handler as anthropic
from litellm.llms.vertex_ai.gemini import vertex_and_google_ai_studio_gemini as gemini

from streamviz.core.bounds import MIB, too_many_values
from streamviz.core.errors import UpstreamError
from streamviz.upstream.bounded_body import VALUES
from streamviz.upstream.lite import bounds_here

# Characters that are looked at in vain: what is no JSON by then, is none.
_MOST_IN_VAIN = 64 * MIB


class BoundedFragments(JSONFragmentAccumulator):
    """Pieces of one JSON value. Raises UpstreamError where they are more than an event may be, or no JSON."""

    def __init__(self) -> None:
        super().__init__()
        self._bounds = bounds_here()
        self._begin()

    def append(self, fragment: str) -> None:
        super().append(fragment)
        self._waiting += len(fragment)
        self._marks += sum(map(fragment.count, VALUES))
        self._bounds.require_event(self._waiting)
        if self._marks > self._bounds.values:
            raise too_many_values(self._bounds.values)

    def pop_next_value(self) -> tuple[bool, object]:
        found, value = super().pop_next_value()
        if found:
            self._begin()
        self._in_vain += len(self._buffer)
        if self._in_vain > _MOST_IN_VAIN:
            raise UpstreamError(502, "upstream sent something that is not JSON")
        return found, value

    def _begin(self) -> None:
        self._waiting = self._marks = self._in_vain = 0


def bound_fragments() -> None:
    """From now on LiteLLM's readers of streams put these together."""
    anthropic.JSONFragmentAccumulator = BoundedFragments
    gemini.JSONFragmentAccumulator = BoundedFragments
