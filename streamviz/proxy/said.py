"""What a request says besides what goes upstream, such as its client's names for the session and for itself."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from asgiref.typing import HTTPScope

from streamviz.core.json_value import JsonObject
from streamviz.core.masking import kept_text, kept_values
from streamviz.core.policy import ActivePolicy
from streamviz.core.wire_format import WireFormat
from streamviz.exchange.stream import LiveStream
from streamviz.proxy import http
from streamviz.proxy.asides import aside_of
from streamviz.proxy.client_headers import kept_headers
from streamviz.proxy.labels import label_of
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.session_names import Helper, helper_of, name_of
from streamviz.traces import parent_in


class Said(NamedTuple):
    """What the client said: `session` is empty if it named none, `trace` if there is none.

    `client` is the address and the port of its connection; `is_retry` says that it sends the request again, `helper`
    which sub-agent it comes from, if it says so. `headers` are those that are recorded.
    """

    wire_format: WireFormat
    session: str
    user_agent: str
    client: tuple[str, int] = ("", 0)
    trace: str = ""
    is_retry: bool = False
    helper: Helper | None = None
    headers: Mapping[str, str] = MappingProxyType({})

    def keep(self, stream: LiveStream, request: bytes, policies: Sequence[ActivePolicy]) -> None:
        """Keep the request, as it is recorded. Nothing is kept of what a policy would mask in the rest."""
        stream.request = request
        self.keep_names(stream, policies)

    def label(self, request: ModelRequest, policies: Sequence[ActivePolicy]) -> str:
        """What the session is about, as far as this request says and policies allow."""
        is_another_agents = self.helper is not None and bool(self.session)
        return "" if is_another_agents else kept_text(label_of(request.fields, self.wire_format.turns), policies)

    def keep_names(self, stream: LiveStream, policies: Sequence[ActivePolicy]) -> None:
        """Keep the client's names for the session and for itself, and its other headers, as policies leave them."""
        stream.session_name = kept_text(self.session, policies)
        stream.user_agent = kept_text(self.user_agent, policies)
        stream.request_headers = kept_values(self.headers, policies)


def said_of(wire_format: WireFormat, scope: HTTPScope, fields: JsonObject) -> Said:
    """What a request with these fields says."""
    header = http.header_reader(scope)
    address, port = scope["client"] or ("", 0)
    parent = parent_in(header(b"traceparent"))
    session = name_of(header, fields)
    return Said(
        wire_format,
        session,
        header(b"user-agent"),
        (address, port or 0),
        parent.trace if parent else "",
        header(b"x-stainless-retry-count").strip() not in ("", "0"),
        helper_of(header, session) or aside_of(fields, wire_format.turns),
        kept_headers(scope),
    )
