"""What can be seen of an exchange: what it is waiting for, and what its client has."""

from collections.abc import Sequence
from functools import partial

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.chain import PolicyChain
from streamviz.core.context import Frame
from streamviz.core.json_value import JsonObject
from streamviz.core.masking import masking
from streamviz.core.policy import ActivePolicy
from streamviz.core.request_judging import RequestJudging
from streamviz.core.sse import EVENT_STREAM
from streamviz.core.unasked_usage import UnaskedUsage
from streamviz.core.wire_format import WireFormat
from streamviz.exchange.commands import Begin, CutOff, End, Respond
from streamviz.exchange.life import State
from streamviz.exchange.questions import Questions
from streamviz.exchange.reading import Means, Reading
from streamviz.exchange.stream import LiveStream
from streamviz.exchange.tape import Tape
from streamviz.exchange.writing import Writing

# Clients give up after some 20 s without a byte, and proxies on the way even sooner.
KEEP_ALIVE_US = 5_000_000


class Progress:
    """How far one call has come. Read-only: events and commands change it."""

    def __init__(
        self,
        stream: LiveStream,
        wire_format: WireFormat,
        aggregator: Aggregator[Chunk, JsonObject],
        policies: Sequence[ActivePolicy],
        means: Means,
    ) -> None:
        self.stream = stream
        self.policies, self.masking = policies, masking(policies)
        self._life = stream.life
        self._context = stream.context
        self._format = wire_format
        self._aggregator = aggregator
        self._tape = Tape(stream)
        self._questions = Questions(stream.context)
        self._writing = Writing(stream, wire_format, aggregator)
        self._new_reading = partial(Reading, stream, aggregator, self._tape, self._writing, means=means)
        self._reading: Reading | None = None
        self._chain: PolicyChain | None = None
        # Whether `advance` may take long because policies look at the chunks themselves.
        self.may_wait = False
        self._request: RequestJudging | None = None
        self._head = Begin(200, {"content-type": EVENT_STREAM if stream.is_streaming else "application/json"})
        self._end: End | Respond | CutOff | None = End()
        self._unasked = UnaskedUsage()
        # Whether an answer that upstream's filter ends is a final failure for the client.
        self._refuses_finally = False
        # Frames of our own, sent before those that policies let out.
        self._made: list[Frame] = []
        self._is_open = False
        # Whether frames are about to be sent, once they are recorded.
        self._is_in_hand = False
        self._has_client = True

    @property
    def is_reading(self) -> bool:
        """Whether upstream's next bytes are wanted."""
        is_answering = self._life.state is State.ANSWERING and not self._context.is_terminated
        return is_answering and self._reading is not None and not self._reading.is_broken

    @property
    def is_waiting(self) -> bool:
        """Whether the client is waiting for the answer to a question."""
        return self._questions.are_awaited

    @property
    def has_questions(self) -> bool:
        """Whether any question is still unanswered."""
        return bool(self._context.questions)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to wait for but upstream."""
        return not self._questions.asked and (self._chain is None or not self._chain.is_holding)

    @property
    def keep_alive_at(self) -> int | None:
        """When the client is due a keep-alive (µs since the epoch). None while no policy keeps it waiting, once it is
        gone, and where none can be sent: only the head precedes a whole answer, and a request that may still be denied
        needs its own."""
        if self._life.is_ending or not self._has_client or not self._keeps_waiting:
            return None
        return (self.stream.times.last_sent_at or self.stream.requested_at) + KEEP_ALIVE_US

    @property
    def has_sent_all(self) -> bool:
        """Whether the client has the stream to its last word; only the end of the response may be missing."""
        return (self._aggregator.has_last_word or self._context.is_terminated) and self._has_sent

    @property
    def _has_sent(self) -> bool:
        """Whether the client has been sent all that has arrived so far."""
        is_sent = self.stream.times.sending_since is None and not self._context.outbox and not self._is_in_hand
        return is_sent and (self._chain is None or not self._chain.is_holding)

    @property
    def has_sent_answer(self) -> bool:
        """Whether the client has all the answers it asked for, and why each ended; usage may still follow."""
        asked = self._format.answers_asked(self._context.request.fields)
        is_told = self.stream.is_streaming and len(self.stream.state.finish_reasons) >= asked
        is_answering = self._life.state is State.ANSWERING
        if is_answering and self._reading is not None and self._reading.is_broken:
            return False
        return (is_told and is_answering and self._has_sent) or self.has_sent_all

    @property
    def _keeps_waiting(self) -> bool:
        if (chain := self._chain) is None:
            return self.stream.is_streaming and self.is_waiting
        return self.is_waiting or chain.is_holding or chain.may_wait

    @property
    def _only_passes(self) -> bool:
        """Whether there is nothing to do but pass on what arrived."""
        context, reading = self._context, self._reading
        is_answer = self._life.state is State.ANSWERING and not context.is_terminated
        is_asked = bool(context.questions or self._questions.asked)
        return is_answer and not is_asked and reading is not None and reading.refusal is None

    @property
    def _may_begin(self) -> bool:
        """Whether the head may be sent before anything else is ready."""
        state = self._life.state
        has_begun = self._reading is not None and self._reading.has_begun
        return state is State.ENDING or (has_begun and (state is State.ANSWERING or state is State.SETTLING))

    @property
    def _is_settled(self) -> bool:
        """Whether everything expected of the answer is judged, and sent if something of our own is to follow it."""
        reading = self._reading
        if reading is None or not reading.is_drained or self.is_waiting:
            return False
        return not self._context.outbox or reading.is_whole or reading.ending() is None
