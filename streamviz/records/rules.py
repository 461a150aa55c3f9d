"""What an installation decides about its record, apart from what carries it out: settings are made of these."""

from dataclasses import dataclass, field

from streamviz.core.model_names import fits, matching


@dataclass(frozen=True, slots=True)
class Retention:
    """Days that chunks are kept, that streams are with their blocks and verdicts, and that streams are, chunks
    included, which a policy intervened in or somebody starred. 0 is for ever."""

    chunk_days: int
    stream_days: int
    kept_days: int

    @property
    def days_of_chunks(self) -> int:
        """Days that chunks are kept indeed: they go with their streams."""
        return min(filter(None, (self.chunk_days, self.stream_days)), default=0)


@dataclass(frozen=True, slots=True)
class Archive:
    """Where runs of streams that are `after_days` old or older are kept instead of in Postgres: a bucket of an object
    storage that speaks S3's API, at `endpoint` (empty: Amazon's), below `prefix`. Without a key Amazon's usual places
    have one."""

    bucket: str
    prefix: str
    endpoint: str
    region: str
    after_days: int
    key_id: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Privacy:
    """Whether requests are kept, and the models and keys (names, with * and ?) of whose streams no content is: only
    how many chunks, blocks and bytes there were, and when."""

    keeps_requests: bool = True
    shapes_of_models: tuple[str, ...] = ()
    shapes_of_keys: tuple[str, ...] = ()

    @property
    def keeps_all(self) -> bool:
        """Whether there is nothing to leave out."""
        return self == Privacy()

    def keeps_content(self, models: tuple[str, ...], key_name: str) -> bool:
        """`models` are all names of the model that is called."""
        return not (matching(models, self.shapes_of_models) or _matches(key_name, self.shapes_of_keys))


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(fits(name, glob) for glob in globs)
