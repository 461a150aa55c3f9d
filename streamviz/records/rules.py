"""What an installation decides about its record, as plain values from which the settings are made."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from streamviz.core.model_names import fits, matching


@dataclass(frozen=True, slots=True)
class Retention:
    """How many days chunks are kept; how many days streams are, with their blocks and verdicts; and how many days
    streams are that a policy intervened in or somebody starred, chunks included. 0 is for ever."""

    chunk_days: int
    stream_days: int
    kept_days: int

    @property
    def days_of_chunks(self) -> int:
        """How many days chunks are really kept, since they go with their streams."""
        return min(filter(None, (self.chunk_days, self.stream_days)), default=0)

    def is_past(self, requested_at: datetime, now: datetime) -> bool:
        """Whether streams of that time are dropped, except for those that are kept longer."""
        return bool(self.stream_days) and requested_at < now - timedelta(days=self.stream_days)


@dataclass(frozen=True, slots=True)
class Archive:
    """Where runs of streams that are at least `after_days` old are kept instead of in Postgres: below `prefix` in a
    bucket of object storage that speaks S3's API, at `endpoint` (Amazon's if empty). Without a key, Amazon's usual
    sources of credentials are used."""

    bucket: str
    prefix: str
    endpoint: str
    region: str
    after_days: int
    key_id: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Privacy:
    """Whether requests are kept, and for which models and keys (names, with * and ?) no content of streams is kept,
    only how many chunks, blocks and bytes there were, and when."""

    keeps_requests: bool = True
    shapes_of_models: tuple[str, ...] = ()
    shapes_of_keys: tuple[str, ...] = ()

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is left out."""
        return self == Privacy()

    def keeps_content(self, models: tuple[str, ...], key_name: str) -> bool:
        """`models` are all names of the model that is called."""
        return not (matching(models, self.shapes_of_models) or _matches(key_name, self.shapes_of_keys))


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(fits(name, glob) for glob in globs)
