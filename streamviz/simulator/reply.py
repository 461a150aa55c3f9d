"""What a writer needs to put an answer into its wire format."""

import string
from random import Random

import msgspec

from streamviz.simulator.steps import Script

Frame = tuple[float, bytes]
"""Seconds to wait, then bytes to send."""
JsonObject = dict[str, object]

EPOCH = 1_780_000_000
"""Answers are dated, depending on their seed, within a month after this second of Unix time."""
ALPHANUMERIC = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
GARBAGE = b"data: <html><head><title>502 Bad Gateway</title></head></html>\n\n"

encode = msgspec.json.encode


class Reply(msgspec.Struct, frozen=True):
    """A script and everything needed to write it: the same reply is always written as the same bytes."""

    script: Script
    model: str
    seed: int
    request: JsonObject

    @property
    def created(self) -> int:
        """The Unix time, in seconds, at which the answer says it was made."""
        return EPOCH + self.seed % (30 * 24 * 3600)

    def make_id(self, prefix: str, length: int, number: int = 0, alphabet: str = ALPHANUMERIC) -> str:
        """An id like a provider's: the prefix, then letters derived from seed, model, prefix and number."""
        rng = Random(f"id {self.model} {self.seed} {prefix} {number}")
        return prefix + "".join(rng.choices(alphabet, k=length))

    def asks_for(self, *path: str) -> object:
        """The value at a path of keys in the request, or None."""
        value: object = self.request
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value


class Padding:
    """The filler that OpenAI adds to small events so that their size does not give their text away."""

    def __init__(self, reply: Reply) -> None:
        self._letters = reply.make_id("", 1024)
        self._at = 0

    def beside(self, text: str) -> str:
        """Filler for an event that carries `text`."""
        length = 16 - len(text) % 16
        self._at = (self._at + 37) % 1000
        return self._letters[self._at : self._at + length]


def named_event(event: JsonObject) -> bytes:
    """An SSE event that is named after its JSON's `type`."""
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), encode(event))
