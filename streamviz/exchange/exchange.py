"""One call, from its request to its last frame: events come in, commands go out."""

from collections.abc import Collection, Coroutine, Iterator, Mapping, Sequence

from streamviz.core.chain import PolicyChain
from streamviz.core.context import OURSELVES, UPSTREAM, Frame
from streamviz.core.errors import FINAL, Cancelled, ClientFacingError, Denied, NotRecorded, UpstreamError
from streamviz.core.events import PROCESSING_ERROR, StreamFailed
from streamviz.core.final_refusals import told_as_final
from streamviz.core.judgements import Answer
from streamviz.core.masking import masking, told_values
from streamviz.core.outcome import Outcome
from streamviz.core.policy import ActivePolicy
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.core.sse import EVENT_STREAM, SSEEvent
from streamviz.exchange import errors
from streamviz.exchange.clients import is_codex
from streamviz.exchange.commands import Begin, CloseUpstream, Command, CutOff, End, Finish, Record, Respond, Send
from streamviz.exchange.life import Event, State
from streamviz.exchange.progress import Progress
from streamviz.exchange.reading import Reading

# A client that takes this long to accept what it was sent counts as slow.
_SLOW_US = 250_000
# The errors that end a stream on purpose; any other error counts as upstream's failure.
_HALTED_BY: Mapping[type[ClientFacingError], Event] = {Denied: Event.DENIED, Cancelled: Event.CANCELLED}


class Exchange(Progress):
    """The life of one call. No I/O: its driver reports what happens, and carries out what `commands` yields after each
    event.

    The order is fixed here: chunks are put on the tape before they are judged, and frames are recorded before they are
    sent. Whatever happens, the client gets a legal end. Only `advance` may await policies.
    """

    def adopt(self, policies: Sequence[ActivePolicy]) -> None:
        """Put these policies in force: first those that the request calls for, and again if another model is called."""
        self.policies, self.masking = policies, masking(policies)

    # The request.

    def judge(self, call: ModelCall, but: Collection[str] = ()) -> RequestJudging:
        """Have the policies judge the request, except those named in `but`, as far as they can without asking anybody
        else."""
        asked = [active for active in self.policies if active.name not in but]
        self._request = RequestJudging(asked, call, self._context)
        return self._request

    def judged(self) -> bool:
        """Put the request as its policies left it into the stream's context, once all have judged it. Return False if
        it was denied."""
        assert self._request is not None
        self._context.request = self._request.call
        if self._request.denied is None:
            return True
        active, verdict = self._request.denied
        self._cut(Event.DENIED, errors.denial(active, verdict), f"{active.name}: {verdict.reason}")
        return False

    def forwarded(self, *, is_replayed: bool = False, is_translated: bool = False) -> None:
        """The request goes upstream. If the answer is replayed, this request did not ask for it, so its number of
        choices does not apply. If it is translated, upstream sends it in another format."""
        if not is_replayed:
            self._aggregator.answers_asked = self._format.answers_asked(self._context.request.fields)
        self._refuses_finally = is_translated and self._writing.tells_final_refusals
        self._life.step(Event.FORWARDED)

    # The answer.

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Upstream accepted the request; its answer follows."""
        self._life.step(Event.ANSWERED)
        self._is_open = True
        self.stream.status = status
        self._head = Begin(status, told_values(headers, self.policies))
        self._reading = self._new_reading(policies=self.policies)
        self._reading.open(headers.get("content-type", ""))

    def received(self, data: bytes) -> None:
        """Upstream sent more bytes. `advance` judges the chunks that they complete."""
        if self._reading is not None and self._life.state is State.ANSWERING:
            self._reading.receive(data)
            if self._chain is not self._reading.chain:
                self._know_chain(self._reading.chain)

    def ended(self, error: UpstreamError | None = None) -> None:
        """Upstream ended its answer or broke it off, or is no longer read. `advance` judges what is left."""
        if self._reading is not None and self._life.state is State.ANSWERING:
            self._life.step(Event.DRAINED)
            self._reading.end(error)
            self._know_chain(self._reading.chain)

    def advance(self) -> Coroutine[None, None, None]:
        """Have the policies judge what has arrived."""
        assert self._reading is not None
        return self._reading.advance(self._life)

    def answer(self, number: int, answer: Answer) -> None:
        """A question was answered. Ignored if nobody is waiting for that answer any more."""
        if not self._questions.take(number):
            return
        question = self._context.questions.get(number)
        if question is not None and question.ordinal is None and self._request is not None:
            self._request.answer(number, answer)
        elif self._chain is not None:
            self._chain.answer(number, answer, self.stream.state, self._context)

    def tick(self) -> None:
        """Time passed: send a keep-alive if a policy has kept the client waiting for too long."""
        due = self.keep_alive_at
        if due is not None and self._context.now() >= due:
            self._made.append(self._writing.keep_alive())

    # Ends imposed on the stream. All of them are legal for the client, which gets nothing of what is held.

    def refused(self, error: ClientFacingError) -> None:
        """There is no answer, or no more of it: the client gets an error, in upstream's words if upstream sent any."""
        error = errors.kept_error(error, self.policies)
        if isinstance(error, UpstreamError) and error.body:
            self._tape.receive([SSEEvent(error.body, None)])
        self._cut(_HALTED_BY.get(type(error), Event.FAILED), error, error.message)

    def broke(self, error: ClientFacingError) -> None:
        """The call cannot continue, for a reason of our own."""
        self._cut(Event.BROKE, error, error.message)

    def lost(self) -> None:
        """The next frames could not be recorded, so they are not sent."""
        if not self._life.is_over:
            self.broke(NotRecorded())

    def cancelled(self, by: str) -> None:
        """A person stopped the stream."""
        self._cut(Event.CANCELLED, errors.cancellation(), f"cancelled by {by}")

    def revoked(self) -> None:
        """The key that the stream was requested with was revoked."""
        self._cut(Event.REVOKED, errors.revocation(), "its key was revoked")

    def stopped(self) -> None:
        """The server is stopping and waits no longer."""
        self._cut(Event.STOPPED, errors.stop(), "streamviz was stopped")

    def away(self) -> None:
        """The client left with the whole answer: nothing more is sent to it, and upstream is read to its end."""
        self._has_client = False

    def left(self, why: str = "") -> None:
        """The client is gone; `why` is set unless it simply left."""
        passed = self.stream.times.passed_seqs
        how_far = f"after chunk {passed[-1]}" if passed else "before the answer began"
        if self._over(Event.LEFT) and self._life.outcome is Outcome.CLIENT_DISCONNECTED:
            self.stream.error = f"{why}; it was cut off {how_far}" if why else f"the client left {how_far}"

    def dropped(self) -> None:
        """The server drops the stream, even if somebody is still waiting for it."""
        self._over(Event.DROPPED)

    def close(self) -> None:
        """Stop asking questions, and note what policies found in texts that have not ended."""
        self._context.questions.clear()
        try:
            if self._chain is not None:
                self._chain.abandon(self._context)
        finally:
            self._life.step(Event.CLOSED)

    # Commands.

    def commands(self) -> Iterator[Command]:
        """What to do now. Each command is carried out before the next is requested; the rest are void once another
        event happens."""
        life, stream = self._life, self.stream
        while not life.is_over:
            if not self._only_passes:
                yield from self._about_others()
                self._come_to_an_end()
            state, frames = life.state, self._take_frames()
            self._is_in_hand = bool(frames)
            if entries := self._tape.take_entries(frames):
                yield Record(entries)
                if life.state is not state:
                    continue  # it could not be recorded
            if not life.has_begun and (frames or self._may_begin):
                life.step(Event.BEGAN)
                yield self._known_head()
            if frames:
                since = stream.times.sending_since = self._context.now()
                self._is_in_hand = False
                data = frames[0].raw if len(frames) == 1 else b"".join([frame.raw for frame in frames])
                yield Send(data, self._takes_end(state))
                self._note_taken(since)
                if life.state is State.ANSWERING:
                    return
            elif state is State.ENDING or state is State.CUT:
                yield from self._ends()
            else:
                return
        yield from self._about_others()
        if entries := self._tape.take_entries():
            yield Record(entries)

    def _about_others(self) -> Sequence[Command]:
        """Commands that concern upstream and whoever answers questions."""
        news: list[Command] = []
        if self._is_open and (self._life.state is not State.ANSWERING or self._context.is_terminated):
            self._is_open = False
            news.append(CloseUpstream())
        if self._context.questions or self._questions.asked:
            news += self._questions.changes()
        return news

    def _ends(self) -> Iterator[Command]:
        """The end of the response, sent once."""
        if (end := self._end) is not None:
            self._end = None
            yield end
        self._over(Event.SENT)
        if (outcome := self._life.outcome) is not None:
            yield Finish(outcome)

    def _takes_end(self, state: State) -> bool:
        """Whether the response ends with what is sent now. True once."""
        is_last = (state is State.ENDING or state is State.CUT) and type(self._end) is End
        if is_last:
            self._end = None
        return is_last

    def _take_frames(self) -> list[Frame]:
        """The frames to send together: all that policies have let out, or nothing of a whole answer until it is
        settled."""
        if not self._has_client:
            self._made, self._context.outbox = [], []
        made, self._made = self._made, []
        context, reading, state = self._context, self._reading, self._life.state
        if not context.outbox or reading is None or reading.is_advancing or state is State.CUT:
            return made
        if reading.is_whole and state is not State.ENDING:
            return made
        frames, context.outbox = context.outbox, []
        if self.stream.hides_usage:
            frames = self._unasked.left_of(frames)
        if self._refuses_finally:
            frames = told_as_final(frames)
        if frames and not self.policies:
            self._writing.passed = frames[-1]
        return made + frames if made else frames

    def _note_taken(self, since: int) -> None:
        """The client has taken what it was sent."""
        self.stream.times.sending_since = None
        if (now := self._context.now()) - since > _SLOW_US:
            self.stream.times.client_waits.append((since, now))

    def _know_chain(self, chain: PolicyChain | None) -> None:
        self._chain, self.may_wait = chain, chain is not None and chain.may_wait

    def _come_to_an_end(self) -> None:
        """End the stream if the client cannot have the answer, or if no more of it will come and nothing is held."""
        reading = self._reading
        if reading is None or self._life.is_ending:
            return
        if reading.refusal is None and self._life.state is State.SETTLING and self._is_settled:
            self._finish(reading)
        if (error := reading.refusal) is not None:
            reading.refusal = None  # its traceback holds what it was raised in
            self.refused(error)

    def _finish(self, reading: Reading) -> None:
        stream, state = self.stream, self.stream.state
        failure = reading.ending()
        if failure is not None:
            self._life.step(Event.BROKE if failure.kind == PROCESSING_ERROR else Event.FAILED)
            stream.error = failure.message
            self._say_last(failure)
        elif reading.refusal is None:
            told = state.failure
            own_end = Event.COMPLETED if told is None else Event.FAULTED
            self._life.step(Event.HALTED if self._context.halted_by else own_end)
            stream.error = told.message if told else state.fault or state.contradiction

    def _cut(self, event: Event, error: ClientFacingError, why: str) -> None:
        """Cut the stream short: the client gets `error`, unless it already has its end; the record gets `why`."""
        if not self._life.step(event):
            return
        if error.code in FINAL and is_codex(self.stream.user_agent):
            error.status = 400  # Codex does not retry after a 400
        self.stream.error = why
        self.stream.status = self._head.status if self._life.has_begun else error.status
        if self._end is None:
            return
        reading = self._reading
        has_last_word = self._life.has_begun and self.has_sent_all and reading is not None and not reading.is_broken
        self._context.outbox.clear()
        self._made.clear()
        if has_last_word:
            return
        if not self._life.has_begun:
            self._answer_whole(error)
        elif self.stream.is_streaming:
            self._say_last(errors.failed(error))
        else:
            self._end = CutOff(error.message)

    def _answer_whole(self, error: ClientFacingError) -> None:
        status, headers, body = self._format.error_answer(error)
        is_upstreams = isinstance(error, UpstreamError) and body == error.body
        self._tape.send([Frame(body, 0, UPSTREAM) if is_upstreams else Frame(body, None, OURSELVES)])
        self._end = Respond(status, headers, body)

    def _known_head(self) -> Begin:
        """The head of the answer. If it is events, the content type says so, whatever upstream called them."""
        said = self._head.headers.get("content-type", "")
        if self._reading is None or not self._reading.comes_as_events or EVENT_STREAM in said.lower():
            return self._head
        return Begin(self._head.status, {**self._head.headers, "content-type": EVENT_STREAM})

    def _say_last(self, failure: StreamFailed) -> None:
        is_amid_event = self._reading is not None and self._reading.ends_amid_event
        self._made.append(self._writing.last_words(failure, is_amid_event=is_amid_event))

    def _over(self, event: Event) -> bool:
        """The client gets nothing more. Return False if that was already so."""
        if not self._life.step(event):
            return False
        self.stream.ended_at = self._context.now()
        self._context.end_holds()
        if self._life.outcome in (Outcome.COMPLETED, Outcome.HALTED):
            self._questions.keep_shadows()
        else:
            self._context.questions.clear()
        return True
