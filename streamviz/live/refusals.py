"""Requests that were refused before they became streams. A server keeps them in memory for the pages, grouped by what
they have in common: strangers can send any number of them, so none is written anywhere."""

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

# How many groups are kept of requests with a valid key, and how many of all others; and how many of either by one key
# or one address. So a flood from one source pushes out only its own groups, and one without a key none of a key's.
MOST, MOST_OF_ONE = 40, 10

_Sort = tuple[int, str, str, str, str, str, str]


class Refusal(msgspec.Struct, frozen=True):
    """A group of `count` refused requests. `client` (an address) and `request_id` are those of the newest; times are in
    µs since the epoch. What is unknown is empty. `is_revoked` says that `key` had been revoked."""

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
        """What the requests of a group have in common."""
        return self.status, self.code, self.message, self.path, self.user_agent, self.key, self.model

    @property
    def has_key(self) -> bool:
        """Whether they were sent with a valid key."""
        return bool(self.key) and not self.is_revoked

    @property
    def source(self) -> str:
        """Who sent them, as far as that is known."""
        return self.key if self.has_key else self.client

    def with_(self, other: "Refusal | None") -> "Refusal":
        """This group and another part of it, as one."""
        if other is None:
            return self
        newest = max(self, other, key=lambda each: each.last_at)
        first_at = min(self.first_at, other.first_at)
        return msgspec.structs.replace(newest, first_at=first_at, count=self.count + other.count)


class Refusals:
    """The refused requests of one server. Used from its event loop alone."""

    def __init__(self) -> None:
        # The group whose newest request is the oldest comes first.
        self._with_key: OrderedDict[_Sort, Refusal] = OrderedDict()
        self._of_strangers: OrderedDict[_Sort, Refusal] = OrderedDict()

    def note(self, refusal: Refusal) -> None:
        """Add a request that was refused."""
        kept = self._with_key if refusal.has_key else self._of_strangers
        before = kept.pop(refusal.sort, None)
        if before is None:
            _make_room(kept, refusal.source)
        kept[refusal.sort] = refusal.with_(before)

    def all(self) -> list[Refusal]:
        """All groups."""
        return [*self._with_key.values(), *self._of_strangers.values()]


def merged(refusals: Iterable[Refusal]) -> list[Refusal]:
    """The groups of several servers, the newest first."""
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
