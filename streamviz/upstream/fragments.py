"""JSON that LiteLLM puts together from several lines of a stream: Google sends errors like that.

With each line that may be the last one LiteLLM looks at everything so far. That takes seconds per megabyte of short
lines, and nothing limits their number.
"""

from litellm.litellm_core_utils.json_fragment_accumulator import JSONFragmentAccumulator
from litellm.llms.anthropic.chat import handler as anthropic
from litellm.llms.vertex_ai.gemini import vertex_and_google_ai_studio_gemini as gemini

from streamviz.core.bounds import MIB, too_many_values
from streamviz.core.errors import UpstreamError
from streamviz.upstream.bounded_body import VALUES
from streamviz.upstream.sending import bounds_here

# How many characters may be looked at in vain: what is not JSON by then will never be.
_MOST_IN_VAIN = 64 * MIB


class BoundedFragments(JSONFragmentAccumulator):
    """Pieces of one JSON value. Raises UpstreamError if they exceed what an event may have, or are not JSON."""

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
    """Make LiteLLM's stream readers use BoundedFragments from now on."""
    anthropic.JSONFragmentAccumulator = BoundedFragments
    gemini.JSONFragmentAccumulator = BoundedFragments
