"""Whether a provider is asked for a stream's token usage if the client does not ask itself."""

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject
from streamviz.core.wire import WIRE_FORMATS
from streamviz.upstream.providers import TELL_USAGE_IF_ASKED
from streamviz.upstream.targets import Lane, Target

# The statuses with which providers refuse a parameter that they do not accept.
_REFUSALS = (400, 422)
_MOST_REMEMBERED = 1_000


class UsageRequests:
    """Which providers are asked for usage, and which of them have refused."""

    def __init__(self) -> None:
        self._refused: set[tuple[str, str, str]] = set()

    def asks(self, target: Target, request: JsonObject) -> bool:
        """Whether streamviz is to ask for usage. On the translated lane LiteLLM asks, and accepts the parameter for any
        provider."""
        if WIRE_FORMATS[target.wire_format].asks_for_usage(request) or _place(target) in self._refused:
            return False
        return target.lane is Lane.TRANSLATED or target.provider in TELL_USAGE_IF_ASKED

    def is_refused(self, target: Target, error: UpstreamError) -> bool:
        """Whether a provider says that it does not accept the parameter; if so, it is not asked again."""
        names_it = b"stream_options" in error.body or "stream_options" in error.message
        is_refused = error.status in _REFUSALS and names_it
        if is_refused:
            if len(self._refused) >= _MOST_REMEMBERED:
                self._refused.clear()
            self._refused.add(_place(target))
        return is_refused


def _place(target: Target) -> tuple[str, str, str]:
    return target.provider, target.url or target.base_url, target.model
