"""Metrics that several processes count together: real processes, real files."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.parser import text_string_to_metric_families

from streamviz import figures, vitals

COUNTING = """
import json
import sys
from pathlib import Path
from streamviz import figures

figures.share(Path(sys.argv[1]))
many = figures.counter("things", "Things", "kind")
now = figures.gauge("things_now", "Things that are there")
worst = figures.worst("things_late", "How late things are")
sizes = figures.histogram("thing_metres", "How long things are", (1, 2, 5), "kind")
many.labels(sys.argv[3]).inc(float(sys.argv[2]))
now.set(float(sys.argv[2]))
worst.set(float(sys.argv[2]))
sizes.labels(sys.argv[3]).observe(float(sys.argv[2]))
for line in sys.stdin:
    print(json.dumps(figures.exposition()), flush=True)
"""
KIND = 'a "quoted"\\nname, {of} \\\\ two lines'


class Counting:
    """A process that counts `number`."""

    def __init__(self, folder: Path, number: float) -> None:
        command = [sys.executable, "-c", COUNTING, str(folder), str(number), KIND]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def collected(self) -> dict[tuple[str, str], float]:
        """What it collects, by name and bucket."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        families = text_string_to_metric_families(json.loads(self.process.stdout.readline()))
        samples = [sample for family in families for sample in family.samples]
        assert {sample.labels["kind"] for sample in samples if "kind" in sample.labels} == {KIND}
        return {(sample.name, sample.labels.get("le", "")): sample.value for sample in samples}

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def running() -> Iterator[list[Counting]]:
    began: list[Counting] = []
    yield began
    for each in began:
        each.kill()


@pytest.mark.integration
def test_processes_answer_for_each_other_and_for_those_that_are_gone(tmp_path: Path, running: list[Counting]) -> None:
    folder = tmp_path / "metrics"
    running += [Counting(folder, 1.5), Counting(folder, 4)]
    [one, two] = running
    one.collected()
    found = two.collected()
    assert found == one.collected()
    assert found["streamviz_things_total", ""] == found["streamviz_things_now", ""] == 5.5
    assert found["streamviz_things_late", ""] == 4
    buckets = [found["streamviz_thing_metres_bucket", le] for le in ("1.0", "2.0", "5.0", "+Inf")]
    assert buckets == [0, 1, 2, 2]
    assert (found["streamviz_thing_metres_count", ""], found["streamviz_thing_metres_sum", ""]) == (2, 5.5)

    two.kill()
    found = one.collected()
    assert found["streamviz_things_total", ""] == found["streamviz_thing_metres_sum", ""] == 5.5
    assert found["streamviz_things_now", ""] == found["streamviz_things_late", ""] == 1.5
    files = len(list(folder.iterdir()))

    one.kill()
    running += [Counting(folder, 2)]
    assert running[-1].collected()["streamviz_things_total", ""] == 7.5
    assert len(list(folder.iterdir())) == files

    (folder / "counter_gone.db").write_bytes(b"\xff\xff\xff\x0fnonsense")
    found = running[-1].collected()
    assert (found["streamviz_things_total", ""], found["streamviz_thing_metres_count", ""]) == (2, 3)


@pytest.mark.integration
def test_who_dies_while_it_adds_up_makes_nothing_count_twice(tmp_path: Path, running: list[Counting]) -> None:
    running.append(Counting(tmp_path, 1.5))
    running[0].collected()
    others = set(tmp_path.iterdir())
    running.append(Counting(tmp_path, 4))
    running[1].collected()
    theirs = {file: file.read_bytes() for file in set(tmp_path.iterdir()) - others}
    running[1].kill()
    for written in ("none", "counter_gone.db", "histogram_gone.db"):
        for file in tmp_path.glob("*_gone.db"):
            if file.name != written:
                file.unlink()
        for file, content in theirs.items():
            file.write_bytes(content)
        for _ in range(2):
            found = running[0].collected()
            assert found["streamviz_things_total", ""] == found["streamviz_thing_metres_sum", ""] == 5.5


def test_figures_are_shared_before_the_first_is_made(tmp_path: Path) -> None:
    assert vitals
    with pytest.raises(RuntimeError):
        figures.share(tmp_path)


def test_a_batch_counts_as_one_by_one_would() -> None:
    counters, histograms, own = [], [], CollectorRegistry()
    for name in ("one_by_one", "in_a_batch"):
        counters.append(Counter(f"{name}_things", "Things", registry=own))
        histograms.append(Histogram(f"{name}_metres", "How long they are", registry=own, buckets=(1, 2, 5)))
    batch = figures.Batch()
    for size in (0.0, 1, 1.5, 2, 5, 5.1, 1e9):
        histograms[0].observe(size)
        batch.observe(histograms[1], size)
        counters[0].inc(size)
        batch.count(counters[1], size)
    assert next(iter(counters[1].collect())).samples[0].value == 0  # nothing has been put there yet
    for _ in range(2):
        batch.put()  # the second call adds nothing
    one, other = (
        [sample.value for each in (counter, histogram) for family in each.collect() for sample in family.samples]
        for counter, histogram in zip(counters, histograms, strict=True)
    )
    created = {1, len(one) - 1}
    assert [value for at, value in enumerate(one) if at not in created] == [
        value for at, value in enumerate(other) if at not in created
    ]
