"""`manage.py backtest POLICY`: what a policy would have done to the newest streams of the record."""

import json
import resource
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError

from streamviz.core.json_value import JsonObject
from streamviz.cores import give_way
from streamviz.ops.command_line import utf8
from streamviz.ops.days import add_days, since
from streamviz.records.backtests.figures import Figures
from streamviz.records.backtests.jobs import run_job
from streamviz.records.backtests.runner import Scope, run
from streamviz.records.models import Backtest, Policy, PolicyVersion
from streamviz.records.policies_in_force import scoped_policy

# With a server that asked for it on the same machine, clients come first.
NICENESS = 10


class Command(BaseCommand):
    """Changes nothing. Ctrl-C ends it and prints what it has found so far."""

    help = "Run a policy over recorded streams and print what it would have denied, allowed and held."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("policy", nargs="?", type=utf8, help="the policy's name")
        parser.add_argument("--streams", type=int, default=1000, help="at most so many of the newest (default: 1000)")
        add_days(parser, "only streams of the last DAYS days")
        parser.add_argument("--policy-version", dest="number", type=int, help="a saved version (default: the newest)")
        parser.add_argument("--parameters", type=Path, help="a JSON file with parameters to use instead of saved ones")
        parser.add_argument("--examples", action="store_true", help="print the examples too")
        parser.add_argument("--job", type=int, help="run a back-test requested from a page")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["job"] is not None:
            job = _job(options["job"])
            give_way(NICENESS)
            run_job(job)
            return
        if options["streams"] < 1:
            raise CommandError(f"--streams takes 1 or more, not {options['streams']}.")
        version = _version(options["policy"], options["number"])
        if options["parameters"]:
            version.parameters = _parameters(options["parameters"])
        scoped = scoped_policy(version.policy.name, version, version.number)
        if scoped.trouble:
            raise CommandError(scoped.trouble)
        scope = Scope(options["streams"], since(options["days"]))
        self._began, self._total, self._figures = time.monotonic(), scope.size(), Figures()
        try:
            self._figures = run(scoped, version.policy_id, scope, self._progress)
        except KeyboardInterrupt:
            self.stderr.write("cancelled")
        self._print(examples=options["examples"])

    def _progress(self, figures: Figures, done: int) -> bool:
        self._figures = figures
        rate = done / (time.monotonic() - self._began)
        self.stderr.write(f"\r{done} of {self._total} streams, {rate:.0f} a second", ending="")
        return True

    def _print(self, *, examples: bool) -> None:
        self.stderr.write("")
        seconds = time.monotonic() - self._began
        # In KiB on Linux.
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found = self._figures.as_json() | {"seconds": round(seconds, 1), "memory_mib": round(memory)}
        if examples:
            found["examples"] = self._figures.examples
        self.stdout.write(json.dumps(found, indent=2))


def _job(number: int) -> Backtest:
    if (job := Backtest.objects.select_related("policy").filter(pk=number).first()) is None:
        raise CommandError(f"There is no back-test {number}.")
    return job


def _parameters(path: Path) -> JsonObject:
    try:
        return msgspec.json.decode(path.read_bytes(), type=JsonObject)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from error
    except ValueError as error:
        raise CommandError(f"{path}: {error}.") from error


def _version(name: str | None, number: int | None) -> PolicyVersion:
    policy = Policy.objects.filter(name=name).first()
    if policy is None:
        known = ", ".join(Policy.objects.values_list("name", flat=True))
        why = f"No policy is called {name}." if name else "Name a policy."
        raise CommandError(f"{why} Policies: {known}.")
    try:
        return policy.versions.select_related("policy").get(number=policy.version if number is None else number)
    except PolicyVersion.DoesNotExist:
        raise CommandError(f"{name} has no version {number}.") from None
