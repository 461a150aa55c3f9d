"""What the processes of a machine count, for Prometheus: each in files of its own, in a folder that they share.

Files belong to a process for as long as it holds its lock. What ended processes have counted is added up, so that
counters do not go back and files never pile up. What was in a damaged file is lost: its counters go back, as they do at
a restart, which Prometheus allows for.
"""

import fcntl
import json
import logging
import operator
import os
import struct
import uuid
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.mmap_dict import MmapedDict

log = logging.getLogger(__name__)

registry = CollectorRegistry()

# A process's file gets its space at once: growing into a full disk would end the process.
_FILE_BYTES = 512 * 1024
_LASTING = ("counter", "histogram")
_KINDS: dict[str, Callable[[float, float], float]] = {
    **dict.fromkeys(_LASTING, operator.add),
    "gauge_livesum": operator.add,
    "gauge_livemax": max,
}
# In place of a process's name: the totals of all that have ended.
_GONE = "gone"
# Prefix of the keys in those files that are not figures: processes whose files are included, and may still exist.
_TAKEN = "taken:"
_FOLDER_LOCK = "folder.lock"
_LOCK = ".lock"
_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def counter(name: str, says: str, *labels: str) -> Counter:
    """Something that only grows."""
    return Counter(f"streamviz_{name}", says, labels, registry=registry)


def histogram(name: str, says: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
    """A distribution of values: how many are in each bucket."""
    return Histogram(f"streamviz_{name}", says, labels, registry=registry, buckets=bounds)


def gauge(name: str, says: str, *labels: str) -> Gauge:
    """A current value: the sum over all running processes."""
    return Gauge(f"streamviz_{name}", says, labels, registry=registry, multiprocess_mode="livesum")


def worst(name: str, says: str, *labels: str) -> Gauge:
    """A current value: the highest of any running process."""
    return Gauge(f"streamviz_{name}", says, labels, registry=registry, multiprocess_mode="livemax")


class Batch:
    """Collects what is counted for each stream before it is added to the figures, because every addition to their files
    takes a few µs. For one thread. What a process has not added when it is killed is lost."""

    def __init__(self) -> None:
        self._amounts: defaultdict[Any, float] = defaultdict(float)

    def count(self, of: Counter, amount: float = 1) -> None:
        """Add to a counter."""
        self._amounts[of._value] += amount

    def observe(self, of: Histogram, value: float) -> None:
        """Record one value."""
        self.observe_many(of, {bisect_left(of._upper_bounds, value): 1}, value)

    def observe_many(self, of: Histogram, by_bucket: Mapping[int, int], together: float) -> None:
        """Record several values: how many are in each bucket, by its index, and their sum."""
        for place, number in by_bucket.items():
            self._amounts[of._buckets[place]] += number
        self._amounts[of._sum] += together

    def put(self) -> None:
        """Add everything to the figures."""
        amounts, self._amounts = self._amounts, defaultdict(float)
        for value, amount in amounts.items():
            value.inc(amount)


def share(folder: Path) -> None:
    """Count in files of this folder until the process ends. Raises RuntimeError unless called before any figure is
    made. If there is no room for the files, the process counts only for itself."""
    if list(registry.collect()):
        raise RuntimeError("figures are shared before the first is made")
    name = uuid.uuid4().hex
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(folder):
            _lock(folder / f"{name}{_LOCK}")  # never closed: the system releases it with the process
            for kind in _KINDS:
                _make(folder / f"{kind}_{name}.db")
            _add_up_gone(folder)
    except OSError as error:
        log.warning("figures are not shared, as there is no room for their files: %s", error)
        for file in folder.glob(f"*{name}*"):
            file.unlink()
        return
    os.environ[_FOLDER] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: name)


def exposition() -> str:
    """The figures of all processes that share them, or only this one's, in Prometheus' text format. Reading the files
    takes a millisecond or two; the library's own way takes four times as long."""
    if not (folder := os.environ.get(_FOLDER)):
        return generate_latest(registry).decode()
    with _alone(Path(folder)):
        _add_up_gone(Path(folder))
        totals = _summed(Path(folder).glob("*.db"))
    return "".join(_lines(kind, by_key) for kind, by_key in totals.items())


_Totals = dict[str, dict[str, float]]


def _summed(files: Iterable[Path]) -> _Totals:
    """The values in all files, by kind and key."""
    totals: _Totals = {kind: {} for kind in _KINDS}
    for file in files:
        kind = file.name.rpartition("_")[0]
        if kind not in totals:
            continue
        into, combine = totals[kind], _KINDS[kind]
        try:
            for key, value, _, _ in MmapedDict.read_all_values_from_file(file):
                into[key] = combine(into[key], value) if key in into else value
        except (RuntimeError, ValueError, struct.error, OSError) as error:
            log.warning("figures in %s cannot be read: %s", file, error)
    return totals


class _Series(NamedTuple):
    """What a value in a file belongs to: its metric, the metric's help text, and the beginning of its line. For a
    bucket also its bound, and the beginning of the line with its histogram's count."""

    metric: str
    says: str
    line: str
    bound: float | None = None
    total: str = ""


@lru_cache(maxsize=10_000)
def _series(key: str) -> _Series:
    metric, name, labels, says = json.loads(key)
    if "le" not in labels:
        return _Series(metric, says, _head(name, labels))
    others = {label: value for label, value in labels.items() if label != "le"}
    return _Series(metric, says, _head(name, labels), float(labels["le"]), _head(f"{metric}_count", others))


def _head(name: str, labels: dict[str, str]) -> str:
    def quoted(value: str) -> str:
        for each, escaped in (("\\", r"\\"), ("\n", r"\n"), ('"', r"\"")):
            value = value.replace(each, escaped)
        return f'"{value}"'

    said = ",".join(f"{label}={quoted(value)}" for label, value in labels.items())
    return f"{name}{{{said}}}" if said else name


def _lines(kind: str, by_key: dict[str, float]) -> str:
    values: dict[str, tuple[_Series, float]] = {}
    for key, value in by_key.items():
        if key.startswith(_TAKEN):
            continue
        series = _series(key)
        # An earlier version may have had another help text for the same metric.
        known = values.get(series.line)
        values[series.line] = series, value if known is None else _KINDS[kind](known[1], value)
    type, _, _ = kind.partition("_")
    metrics: dict[str, list[str]] = {}
    for metric, says, line, value in _cumulated(values.values()):
        if metric not in metrics:
            name = f"{metric}_total" if type == "counter" else metric
            metrics[metric] = [f"# HELP {name} {says}\n# TYPE {name} {type}\n"]
        metrics[metric].append(f"{line} {int(value) if value.is_integer() else value!r}\n")
    return "".join(line for lines in metrics.values() for line in lines)


def _cumulated(values: Iterable[tuple[_Series, float]]) -> Iterator[tuple[str, str, str, float]]:
    """Metric, help text, beginning of the line, and value. Files have the count of each bucket, Prometheus expects it
    to include all smaller buckets."""
    counted: defaultdict[str, list[tuple[float, float, _Series]]] = defaultdict(list)
    for series, value in values:
        if series.bound is None:
            yield series.metric, series.says, series.line, value
        else:
            counted[series.total].append((series.bound, value, series))
    for count, buckets in counted.items():
        total = 0.0
        for _, value, series in sorted(buckets):
            total += value
            yield series.metric, series.says, series.line, total
        yield series.metric, series.says, count, total


def _add_up_gone(folder: Path) -> None:
    """Add what ended processes have counted to the few files that have the totals of all before them."""
    gone = [lock.name.removesuffix(_LOCK) for lock in folder.glob(f"*{_LOCK}") if _is_free(lock)]
    if not gone:
        return
    for kind in _LASTING:
        _take(folder, kind, gone)
    theirs = [folder / f"{kind}_{name}.db" for name in gone for kind in _KINDS]
    for file in [*theirs, *(folder / f"{name}{_LOCK}" for name in gone)]:
        file.unlink(missing_ok=True)


def _take(folder: Path, kind: str, gone: list[str]) -> None:
    """Add up the figures of one kind, each process's only once: whoever did it before may have died before removing the
    files of those processes."""
    into = folder / f"{kind}_{_GONE}.db"
    before = _summed(folder.glob(into.name))[kind]
    fresh = [folder / f"{kind}_{name}.db" for name in gone if _TAKEN + name not in before]
    totals = _summed(file for file in (into, *fresh) if file.exists())[kind]
    figures = {key: value for key, value in totals.items() if not key.startswith(_TAKEN)}
    _write(into, figures | dict.fromkeys((_TAKEN + name for name in gone), 1.0))


def _write(file: Path, by_key: dict[str, float]) -> None:
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    _make(fresh, max(_FILE_BYTES, sum(len(key.encode()) + 32 for key in by_key) + 8))
    written = MmapedDict(str(fresh))
    for key, value in by_key.items():
        written.write_value(key, value, 0.0)
    written.close()
    fresh.replace(file)


def _make(file: Path, size: int = _FILE_BYTES) -> None:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.truncate(descriptor, size)
        if hasattr(os, "posix_fallocate"):  # some systems lack it
            os.posix_fallocate(descriptor, 0, size)
    finally:
        os.close(descriptor)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others from adding up while this process adds up or reads."""
    descriptor = _lock(folder / _FOLDER_LOCK)
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(file: Path) -> int:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _is_free(lock: Path) -> bool:
    if lock.name == _FOLDER_LOCK:
        return False
    descriptor = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
