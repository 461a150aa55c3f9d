"""The executor of every call that names no other."""

import msgspec

from streamviz.executors.call import Call
from streamviz.executors.executor import Executor
from streamviz.upstream.answer import Answer


class NoParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """There is nothing to set."""


class Passthrough(Executor):
    """The request goes to its model, and the model's answer to the client."""

    name = "passthrough"
    Parameters = NoParameters

    async def open(self, call: Call) -> Answer:
        return await call.pass_through()
