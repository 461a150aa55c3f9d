"""What the processes of a machine count, for Prometheus: each in files of its own, in a folder that they share.

A process's files are its own for as long as it holds its lock. What those that are gone have counted is added up, so
that counters do not go back and files never pile up. What lay in a file that is damaged is lost: its counters go back,
as at a restart, which Prometheus allows for.
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

# A file of a process is given its room at once: what grows into a full disk would end the process.
_FILE_BYTES = 512 * 1024
_LASTING = ("counter", "histogram")
_KINDS: dict[str, Callable[[float, float], float]] = {
    **dict.fromkeys(_LASTING, operator.add),
    "gauge_livesum": operator.add,
    "gauge_livemax": max,
}
# Instead of a process's name: what is left of all that are gone.
_GONE = "gone"
# Begins the keys in those files that are no figures: the processes whose files are in them, and may still be there.
_TAKEN = "taken:"
_FOLDER_LOCK = "folder.lock"
_LOCK = ".lock"
_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def counter(name: str, says: str, *labels: str) -> Counter:
    """Something that only grows."""
    return Counter(f"streamviz_{name}", says, labels, registry=registry)


def histogram(name: str, says: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
    """How often something was how large."""
    return Histogram(f"streamviz_{name}", says, labels, registry=registry, buckets=bounds)


def gauge(name: str, says: str, *labels: str) -> Gauge:
    """How it is now: the sum over all processes that live."""
    return Gauge(f"streamviz_{name}", says, labels, registry=registry, multiprocess_mode="livesum")


def worst(name: str, says: str, *labels: str) -> Gauge:
    """How it is now in the process that has most of it."""
    return Gauge(f"streamviz_{name}", says, labels, registry=registry, multiprocess_mode="livemax")


class Batch:
    """What is counted for each stream, until it is put with the figures: in their files that takes some µs for each, as
    often as it is done. For one thread. What a process that is killed has not put yet is lost."""

    def __init__(self) -> None:
        self._amounts: defaultdict[Any, float] = defaultdict(float)

    def count(self, of: Counter, amount: float = 1) -> None:
        """So many more."""
        self._amounts[of._value] += amount

    def observe(self, of: Histogram, value: float) -> None:
        """One of this size."""
        self.observe_many(of, {bisect_left(of._upper_bounds, value): 1}, value)

    def observe_many(self, of: Histogram, by_bucket: Mapping[int, int], together: float) -> None:
        """Some, by the places of their buckets, and what they come to together."""
        for place, number in by_bucket.items():
            self._amounts[of._buckets[place]] += number
        self._amounts[of._sum] += together

    def put(self) -> None:
        """Put all with the figures."""
        amounts, self._amounts = self._amounts, defaultdict(float)
        for value, amount in amounts.items():
            value.inc(amount)


def share(folder: Path) -> None:
    """Count in files of this folder, until the process ends. To be called before any figure is made, else raises
    RuntimeError. Where there is no room for files, the process counts for itself."""
    if list(registry.collect()):
        raise RuntimeError("figures are shared before the first is made")
    name = uuid.uuid4().hex
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(folder):
            _lock(folder / f"{name}{_LOCK}")  # never closed: the system lets go of it with the process
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
    """The figures of all processes that share them, or of this one, in Prometheus' text format. Reads files, a
    millisecond or two; the library's own way with them takes four times as long."""
    if not (folder := os.environ.get(_FOLDER)):
        return generate_latest(registry).decode()
    with _alone(Path(folder)):
        _add_up_gone(Path(folder))
        totals = _summed(Path(folder).glob("*.db"))
    return "".join(_lines(kind, by_key) for kind, by_key in totals.items())


_Totals = dict[str, dict[str, float]]


def _summed(files: Iterable[Path]) -> _Totals:
    """The values of all files by kind and key."""
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
    """What a value in a file is of: its metric and what that says, and how its line begins. Of a bucket also its bound,
    and how the line of its histogram's count begins."""

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
        # An earlier version may have said something else of the same.
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
    """Metric, what it says, beginning of the line, and value: files have what is in each bucket, Prometheus wants what
    is in it or in a smaller one."""
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
    """Take what processes have counted that are gone, so that it lies in the same few files as that of all before."""
    gone = [lock.name.removesuffix(_LOCK) for lock in folder.glob(f"*{_LOCK}") if _is_free(lock)]
    if not gone:
        return
    for kind in _LASTING:
        _take(folder, kind, gone)
    theirs = [folder / f"{kind}_{name}.db" for name in gone for kind in _KINDS]
    for file in [*theirs, *(folder / f"{name}{_LOCK}" for name in gone)]:
        file.unlink(missing_ok=True)


def _take(folder: Path, kind: str, gone: list[str]) -> None:
    """Add the figures of a kind up, those of each process once: whoever did it before may have died before their files
    were gone."""
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
        if hasattr(os, "posix_fallocate"):  # not every system has it
            os.posix_fallocate(descriptor, 0, size)
    finally:
        os.close(descriptor)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While somebody adds up or reads, nobody else adds up."""
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
