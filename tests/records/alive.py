"""How many rows are in memory at the same time."""

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

from django.db.models import Model
from django.db.models.signals import post_init


@contextmanager
def at_once(model: type[Model]) -> Iterator[list[int]]:
    """The number of a model's rows in memory each time one is created."""
    alive: WeakSet[Model] = WeakSet()
    numbers: list[int] = []

    def count(instance: Model, **_: object) -> None:
        alive.add(instance)
        numbers.append(len(alive))

    post_init.connect(count, sender=model)
    try:
        yield numbers
    finally:
        post_init.disconnect(count, sender=model)
