"""What policies that hold nothing cost per chunk: `python -m bench.policies`. Prints a table in markdown.

Sends the same streams through one streamviz, alternating between no policy and three enforced ones: a tool rule, a
schema check and a text pattern. No tool is called and nothing matches, so all three judge and none acts.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict

import httpx

from bench import gateways
from bench.load import percentile

GUARDS = ("shell-guard", "schema-check", "bench-text")
SPREAD_SECONDS = "2"
_WARM_UP_SECONDS = 3.0


class Operator:
    """The administrator, who switches policies through the pages as a person does."""

    def __init__(self, ours: gateways.Gateway) -> None:
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{ours.port}", timeout=30)
        self.post(ours.sign_in_link, ours.sign_in_link)

    def post(self, path: str, page: str, **fields: str) -> None:
        """Submit a page's form."""
        found = gateways.FORM_TOKEN.search(self._http.get(page).text)
        assert found, f"{page} has no form"
        answer = self._http.post(path, data={**fields, "csrfmiddlewaretoken": found[1]})
        assert answer.status_code == 302, answer.text[:2000]

    def make(self, kind: str, name: str, rule: dict[str, str], models: str = "") -> None:
        """Create a policy of a kind, off at first, for all models or for some."""
        fields = {"name": name, "mode": "off", "order": "90", "time_limit": "30", "by_hand_seconds": "120"}
        path = f"/policies/new/{kind}/"
        self.post(path, path, **fields, **rule, models_scope=models, reason="bench")

    def make_text_rule(self) -> None:
        """Create a rule with a pattern that occurs in no stream."""
        rule = {"p.patterns": "sk-[A-Za-z0-9]{20}", "p.action": "replace", "p.in": "content", "p.look_back": "200"}
        self.make("text_rule", "bench-text", rule)

    def switch(self, mode: str) -> None:
        """Set the mode of all three."""
        for name in GUARDS:
            self.set_mode(name, mode)

    def set_mode(self, name: str, mode: str) -> None:
        """Set a policy's mode, and wait until every worker has it."""
        self.post(f"/policies/{name}/mode/", "/policies/", mode=mode, reason="bench")
        # While some workers do not have it yet, the fragment polls again.
        while "hx-get" in self._http.get(f"/policies/{name}/spread/").text:
            pass


def _load(gateway: gateways.Gateway, streams: int, seconds: float, cpu: int | None) -> dict[str, int]:
    pinned = [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]
    asked = [str(gateway.port), "long", str(streams), str(seconds), gateway.key or "none", SPREAD_SECONDS]
    command = [*pinned, sys.executable, "-m", "bench.load", *asked]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, int] = json.loads(said)
    assert not found["errors"], found["errors"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.policies", description=__doc__)
    parser.add_argument("--streams", type=int, default=20, help="streams at once, of 50 chunks a second each")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    seen: dict[str, list[dict[str, int]]] = defaultdict(list)
    load_cpu, our_cpu = gateways.cpus()
    with gateways.upstream(load_cpu) as upstream, gateways.streamviz(upstream.port, our_cpu) as ours:
        operator = Operator(ours)
        operator.make_text_rule()
        _load(ours, asked.streams, _WARM_UP_SECONDS, load_cpu)
        for _ in range(asked.rounds):
            seen["direct"].append(_load(upstream, asked.streams, asked.seconds, load_cpu))
            for mode in ("off", "enforce"):
                operator.switch(mode)
                seen[mode].append(_load(ours, asked.streams, asked.seconds, load_cpu))
    print(f"{asked.streams} streams of 50 chunks a second, {asked.rounds} rounds of {asked.seconds:g} s\n")
    print("| | latency per chunk p50 µs | p99 µs | p50 in each round |\n|---|---:|---:|---|")
    for mode, words in (("direct", "direct"), ("off", "no policy"), ("enforce", "three that hold nothing")):
        middle, worst = (percentile([each[f"latency_p{part}"] for each in seen[mode]], 50) for part in (50, 99))
        print(f"| {words} | {middle} | {worst} | {' '.join(str(each['latency_p50']) for each in seen[mode])} |")
    direct, alone, judged = (seen[mode] for mode in ("direct", "off", "enforce"))
    ratios = sorted(
        (three["latency_p50"] - plain["latency_p50"]) / (none["latency_p50"] - plain["latency_p50"])
        for plain, none, three in zip(direct, alone, judged, strict=True)
    )
    print(f"\nadded, by rounds: {' '.join(f'{ratio:.2f}' for ratio in ratios)}; median {ratios[len(ratios) // 2]:.2f}")


if __name__ == "__main__":
    main()
