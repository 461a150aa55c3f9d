"""How far downloads of many streams have come, for the pages that started them."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from time import monotonic

from django.contrib.auth.models import User
from django.utils import timezone

from streamviz.records.models import Download, Stream
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.rows import SearchTooBroad, limited
from streamviz.records.queries.statistics import by_time

# Progress is noted after this many streams, or this much time.
_EVERY = 50
_EVERY_SECONDS = 5.0
_FORGOTTEN_AFTER = timedelta(days=1)
# A download that was not heard of for this long is not running.
STOPPED_AFTER = timedelta(minutes=1)


def counted(
    streams: Iterable[Stream], number_of: Callable[[], int | None], download_id: uuid.UUID, user: User
) -> Iterator[Stream]:
    """The same streams; notes how many were written so far, and of how many, as far as `number_of` knows."""
    now = timezone.now()
    Download.objects.filter(updated_at__lt=now - _FORGOTTEN_AFTER).delete()
    _, is_new = Download.objects.get_or_create(id=download_id, defaults={"user": user})
    if not is_new:
        yield from streams
        return
    this = Download.objects.filter(pk=download_id)
    this.update(total=number_of())
    number, noted_at = 0, monotonic()
    for number, stream in enumerate(streams, 1):
        yield stream
        if number % _EVERY == 0 or monotonic() - noted_at >= _EVERY_SECONDS:
            this.update(streams=number, updated_at=timezone.now())
            noted_at = monotonic()
    this.update(streams=number, is_whole=True, updated_at=timezone.now())


def number_of(filters: Filters) -> int | None:
    """About how many streams these filters match; None if that takes too long to find out."""
    try:
        with limited():
            found = by_time(filters, timedelta(days=7), has_times=False, may_estimate=True)
    except SearchTooBroad:
        return None
    return sum(bucket.streams for bucket in found.buckets)
