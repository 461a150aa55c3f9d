"""What a request says beside what goes upstream: how its client calls the session, and itself."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from asgiref.typing import HTTPScope

from streamviz.core.masking import kept_text
from streamviz.core.policy import ActivePolicy
from streamviz.live.streams import LiveStream
from streamviz.proxy import http
from streamviz.proxy.formats import WireFormat
from streamviz.proxy.requests import ModelRequest
from streamviz.proxy.session_names import name_of
from streamviz.proxy.sessions import label_of


class Said(NamedTuple):
    """As the client said it: `session` is empty where it named none."""

    wire_format: WireFormat
    session: str
    user_agent: str

    def keep(self, stream: LiveStream, request: ModelRequest, policies: Sequence[ActivePolicy]) -> None:
        """What is kept is the request as it goes upstream: of what a policy masks in it, or would mask in the rest,
        nothing is."""
        stream.request = request.body
        stream.session_label = kept_text(self.session, policies) or label_of(request.fields, self.wire_format.turns)
        stream.user_agent = kept_text(self.user_agent, policies)

    def keep_meanwhile(self, stream: LiveStream, policies: Sequence[ActivePolicy]) -> None:
        """While it is not settled which model is called, and with that which policies are in force, what all of them
        leave."""
        stream.session_label = kept_text(self.session, policies)
        stream.user_agent = kept_text(self.user_agent, policies)


def said_of(wire_format: WireFormat, scope: HTTPScope, request: ModelRequest) -> Said:
    """What this request says."""
    named = name_of(partial(http.header, scope), request.fields)
    return Said(wire_format, named, http.header(scope, b"user-agent"))
