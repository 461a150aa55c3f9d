"""Requests that were refused before they became streams: the newest of each sort, which a server keeps for the pages in
memory. Strangers can send as many as they like, so nothing of them is written anywhere."""

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

# How many sorts are kept, once with a known key and once without, and how many of them by one key or one address: a
# flood pushes out neither what others were refused nor what keys were.
MOST, MOST_OF_ONE = 40, 10

_Sort = tuple[int, str, str, str, str, str, str]


class Refusal(msgspec.Struct, frozen=True):
    """Requests that were refused alike, `count` of them; `client` (an address) and `request_id` are the newest's. Times
    are in µs since the epoch. What is unknown is empty; a key that `is_revoked` opened nothing."""

    status: int
    code: str
    message: str
    path: str
    user_agent: str
    key: str
    model: str
    is_revoked: bool
    client: str
    request_id: str
    first_at: int
    last_at: int
    count: int = 1

    @property
    def sort(self) -> _Sort:
        """What those that are alike have in common."""
        return self.status, self.code, self.message, self.path, self.user_agent, self.key, self.model

    @property
    def has_key(self) -> bool:
        """Whether it was sent with a key that opens the proxy."""
        return bool(self.key) and not self.is_revoked

    @property
    def source(self) -> str:
        """Who sent it, as far as that is known."""
        return self.key if self.has_key else self.client

    def with_(self, other: "Refusal | None") -> "Refusal":
        """Both together."""
        if other is None:
            return self
        newest = max(self, other, key=lambda each: each.last_at)
        first_at = min(self.first_at, other.first_at)
        return msgspec.structs.replace(newest, first_at=first_at, count=self.count + other.count)


class Refusals:
    """Those of one server. Used from its event loop alone."""

    def __init__(self) -> None:
        # The one that was longest not seen comes first.
        self._with_key: OrderedDict[_Sort, Refusal] = OrderedDict()
        self._of_strangers: OrderedDict[_Sort, Refusal] = OrderedDict()

    def note(self, refusal: Refusal) -> None:
        """A request was refused."""
        kept = self._with_key if refusal.has_key else self._of_strangers
        before = kept.pop(refusal.sort, None)
        if before is None:
            _make_room(kept, refusal.source)
        kept[refusal.sort] = refusal.with_(before)

    def all(self) -> list[Refusal]:
        """Everything that is kept."""
        return [*self._with_key.values(), *self._of_strangers.values()]


def merged(refusals: Iterable[Refusal]) -> list[Refusal]:
    """Those of several servers, the newest first."""
    found: dict[_Sort, Refusal] = {}
    for each in refusals:
        found[each.sort] = each.with_(found.get(each.sort))
    return sorted(found.values(), key=lambda each: each.last_at, reverse=True)


def _make_room(kept: OrderedDict[_Sort, Refusal], source: str) -> None:
    own = [sort for sort, each in kept.items() if each.source == source]
    if len(own) >= MOST_OF_ONE:
        del kept[own[0]]
    elif len(kept) >= MOST:
        kept.popitem(last=False)
