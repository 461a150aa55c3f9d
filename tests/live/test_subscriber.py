"""One socket's side: what is skipped for a browser that cannot keep up, and how it catches up."""

from collections.abc import Iterator

from streamviz.live.subscriber import MOST, TRY_AGAIN, WINDOW, Message, Subscriber, head

NOW = 1_790_000_000_000_000
PIECE = WINDOW // 4


class Stream:
    """Numbers messages as a channel does."""

    def __init__(self, subscriber: Subscriber) -> None:
        self.number = 0
        self.subscriber = subscriber

    def text(self, size: int = PIECE) -> int:
        return self._offer("t" * size, is_text=True)

    def transition(self, size: int = 10) -> int:
        return self._offer("b" * size, is_text=False)

    def _offer(self, html: str, *, is_text: bool) -> int:
        self.number += 1
        text = head(self.number, "delta", NOW) + html
        self.subscriber.offer(Message(self.number, text), NOW, is_text=is_text)
        return self.number


def taken(subscriber: Subscriber) -> Iterator[str]:
    """The first lines of the messages that a socket was given, without the time."""
    while not subscriber.outbox.empty():
        message = subscriber.outbox.get_nowait()
        number, kind, _, dropped = message.text.partition("\n")[0].split() if message.text else ("", "close", "", "0")
        yield f"{number} {kind}" + (f" {dropped}" if dropped != "0" else "")


def test_it_sends_everything_while_the_browser_keeps_up() -> None:
    subscriber = Subscriber()
    stream = Stream(subscriber)
    for number in range(1, 101):
        subscriber.confirm(stream.text())
        assert list(taken(subscriber)) == [f"{number} delta"]
    assert subscriber.dropped == 0


def test_it_leaves_out_text_and_never_transitions() -> None:
    subscriber, before = Subscriber(), Subscriber.dropped_of_all
    stream = Stream(subscriber)
    for _ in range(10):
        stream.text()
    stream.transition()
    assert list(taken(subscriber)) == ["1 delta", "2 delta", "3 delta", "4 delta", "10 behind 6", "11 delta"]
    assert Subscriber.dropped_of_all == before + 6


def test_it_asks_for_a_snapshot_once_the_browser_has_caught_up() -> None:
    subscriber = Subscriber()
    subscriber.show(0, "<p></p>", NOW)
    stream = Stream(subscriber)
    for _ in range(10):
        stream.text()
    subscriber.confirm(1)
    assert not subscriber.wants_snapshot
    subscriber.confirm(10)
    assert subscriber.wants_snapshot
    subscriber.show(10, "<p></p>", NOW)
    assert not subscriber.wants_snapshot
    stream.text()
    assert list(taken(subscriber))[-2:] == ["10 snapshot 6", "11 delta"]


def test_text_stays_out_until_the_snapshot() -> None:
    subscriber = Subscriber()
    stream = Stream(subscriber)
    for _ in range(10):
        stream.text()
    subscriber.confirm(10)
    stream.text()
    assert subscriber.dropped == 7


def test_it_sends_a_browser_away_that_takes_nothing_at_all() -> None:
    subscriber = Subscriber()
    stream = Stream(subscriber)
    for _ in range(MOST // PIECE + 2):
        stream.transition(PIECE)
    waiting = [subscriber.outbox.get_nowait() for _ in range(subscriber.outbox.qsize())]
    closes = [message.close for message in waiting if message.close]
    assert closes[0] == TRY_AGAIN


def test_a_browser_that_confirms_what_it_never_took_is_sent_away_too() -> None:
    subscriber = Subscriber()
    stream = Stream(subscriber)
    for _ in range(MOST // PIECE + 2):
        subscriber.confirm(stream.transition(PIECE))
    assert subscriber.closed_with == TRY_AGAIN
