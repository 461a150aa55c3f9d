"""What a megabyte of hostile input does to another stream: `python -m bench.hostile`. Prints a table in markdown.

A provider sends a chunk every 20 ms to one client. Another client, in its own process, repeatedly requests the worst
known input for one kind of policy. The result is the longest gap between two chunks of the first stream. Everything
runs on one machine, including the provider, the clients and the processes that judge, so compare all rows with those
that have no policy.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import httpx

from bench import gateways
from bench.policies import Operator

MEGABYTE = 1_000_000
_PACE_SECONDS = 0.02
_CALM_CHUNKS = 25
_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: {}\r\nconnection: close\r\n\r\n"
_EVENTS, _JSON = "text/event-stream", "application/json"


class Case(NamedTuple):
    """A policy (none if `kind` is empty), what the model answers, and what else the request contains.

    `beside` is JSON for a member other than the text: of an event in the shape `around`, or of the body if `is_whole`,
    when the answer is not streamed. The request goes to `path`.
    """

    kind: str
    parameters: dict[str, str]
    arguments: str = ""
    text: str = ""
    fields: dict[str, Any] = {}
    beside: str = ""
    is_whole: bool = False
    around: str = '{"choices":[],"x":%s}'
    path: str = "/v1/chat/completions"


def _objects(count: int) -> str:
    return json.dumps({"l": [{"a": 1}] * count}, separators=(",", ":"))


def _tool(schema: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": "run", "parameters": schema}}]}


def _doubling(depth: int) -> dict[str, Any]:
    steps = {f"s{n}": {"anyOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(depth)}
    return {"$ref": "#/$defs/s0", "$defs": {**steps, f"s{depth}": {"type": "integer"}}}


def _unevaluated(depth: int) -> dict[str, Any]:
    steps = {f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(depth)}
    return {"$ref": "#/$defs/s0", "unevaluatedProperties": False, "$defs": {**steps, f"s{depth}": {}}}


def _nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def _rule(**rule: str) -> dict[str, str]:
    return {"p.arguments": json.dumps([rule])}


def _in_choice(member: str) -> str:
    """A chat event with the member in a choice."""
    return f'{{"choices":[{{"index":0,"delta":{{}},"{member}":%s}}]}}'


def _in_delta(member: str) -> str:
    """A chat event with the member in a delta."""
    return f'{{"choices":[{{"index":0,"delta":{{"content":"","{member}":%s}}}}]}}'


LONG = json.dumps({"s": "x" * MEGABYTE})
WIDE = _objects(MEGABYTE // 8)
KEYS = json.dumps({str(number): 1 for number in range(MEGABYTE // 9)}, separators=(",", ":"))
DEEP = json.dumps({"l": [json.loads(_nested(150))] * (MEGABYTE // 900)}, separators=(",", ":"))
DEEPEST = _nested(MEGABYTE // 6)
INTEGERS = json.dumps({"l": list(range(400)), "s": "x" * MEGABYTE})
TEXTS = json.dumps({"l": ["x" * 1_000] * 1_000})
MAILS = "a@b.co " * (MEGABYTE // 7)
DIGITS = "4111 " * (MEGABYTE // 5)
MEMBERS = json.dumps({f"k{number}": 1 for number in range(MEGABYTE // 14)}, separators=(",", ":"))
MANY_NUMBERS = "[" + "1," * 190_000 + "1]"
SAID = [{"role": "user", "content": MAILS}]
ASKED = {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}] * (MEGABYTE // 30)}]}
ITEMS = {"properties": {"l": {"items": {"required": ["b"]}}}}
SECRET = {"p.patterns": '[{"pattern": "secret"}]'}
SECRET_TEXT = {"p.patterns": "SECRET"}
JUDGE = {"p.model": "sim/judge", "p.instructions": "bad"}
LOOPS = "args.l.all(a, args.l.all(b, a == b || args.s.contains('y')))"

CASES: dict[str, Case] = {
    "nothing hostile, no policy": Case("", {}, text="x"),
    "wide, no policy": Case("", {}, WIDE),
    "deep, no policy": Case("", {}, DEEPEST),
    "event: 9 MB of objects": Case("", {}, beside="[" + "{}," * (3 * MEGABYTE) + "1]"),
    "event: as many values as may be": Case("", {}, beside="[" + "{}," * 99_000 + "1]"),
    "event: members beside a delta": Case("", {}, beside=MEMBERS, around=_in_delta("x")),
    "event: members of a sound": Case("", {}, beside=MEMBERS, around=_in_delta("audio")),
    "event: members of thinking": Case("", {}, beside=f"[{MEMBERS}]", around=_in_delta("reasoning_details")),
    "event: log probabilities": Case("", {}, beside=f'{{"content":{MANY_NUMBERS}}}', around=_in_choice("logprobs")),
    "event: members, text_rule": Case("text_rule", SECRET_TEXT, beside=MEMBERS, around=_in_delta("x")),
    "translated: many parts": Case("", {}, text="x", fields={**ASKED, "max_tokens": 9}, path="/v1/messages"),
    "whole: 9 MB of objects": Case("", {}, beside="[" + "{}," * (3 * MEGABYTE) + "1]", is_whole=True),
    "whole: 9 MB of choices": Case(
        "", {}, beside='[],"choices":[' + '{"message":{"content":"x"}},' * (MEGABYTE // 3) + "{}]", is_whole=True
    ),
    "whole: as many values as may be": Case("", {}, beside="[" + "{}," * 99_000 + "1]", is_whole=True),
    "redact: 5 MB in one delta": Case("redact", {}, text="plain words. " * (5 * MEGABYTE // 13)),
    "text_rule: 20 MB in one delta": Case("text_rule", SECRET_TEXT, text="a" * 20 * MEGABYTE),
    "text_rule: 20 MB, whole": Case("text_rule", SECRET_TEXT, text="a" * 20 * MEGABYTE, is_whole=True),
    "tool_rule: a path, wide": Case("tool_rule", _rule(path="$..x", pattern="rm"), WIDE),
    "tool_rule: every value, deep": Case("tool_rule", _rule(path="$..*", pattern="rm"), DEEP),
    "tool_rule: too deep": Case("tool_rule", _rule(path="$..*", pattern="rm"), DEEPEST),
    "tool_rule: a costly pattern": Case("tool_rule", _rule(pattern="(x|xx|xxx){1,200}y"), LONG),
    "cel_rule: loops in loops": Case("cel_rule", {"p.expression": LOOPS}, INTEGERS),
    "cel_rule: long texts": Case("cel_rule", {"p.expression": "args.l.exists(a, args.l.exists(b, b + a == a))"}, TEXTS),
    "cel_rule: one loop over all": Case("cel_rule", {"p.expression": "args.l.all(a, size(args.l) > 0)"}, WIDE),
    "cel_rule: a pattern of the model's": Case(
        "cel_rule", {"p.expression": "args.s.matches(args.p)"}, json.dumps({"s": "x" * MEGABYTE, "p": "(x{99}){99}"})
    ),
    "cel_rule: a long request": Case(
        "cel_rule", {"p.expression": "size(request.fields.messages) > 9", "p.on": "request"}, "{}", "", ASKED
    ),
    "redact: many to mask": Case("redact", {}, json.dumps({"s": MAILS})),
    "redact: many keys": Case("redact", {}, KEYS),
    "redact: a text that looks like cards": Case("redact", {}, text=DIGITS),
    "redact: a long request": Case("redact", {}, "{}", "", {"messages": SAID}),
    "text_rule: a costly pattern": Case(
        "text_rule", {"p.patterns": "x{1,300}y", "p.look_back": "2000"}, text="x" * MEGABYTE
    ),
    "tool_schema: $defs that multiply": Case("tool_schema", {}, "{}", "", _tool(_doubling(60))),
    "tool_schema: unevaluated": Case("tool_schema", {}, '{"a": 1}', "", _tool(_unevaluated(60))),
    "tool_schema: large patterns": Case(
        "tool_schema", {}, json.dumps({"a": "x" * 1_000}), "",
        _tool({"properties": {"a": {"anyOf": [{"pattern": f"(x{{900}}y{n}|.{{900}}z)"} for n in range(200)]}}}),
    ),
    "tool_schema: a long list": Case("tool_schema", {}, WIDE, "", _tool(ITEMS)),
    "tool_schema: a schema of a megabyte": Case(
        "tool_schema", {}, "{}", "", _tool({"anyOf": [{"required": ["x"]}] * (MEGABYTE // 19)})
    ),
    "request_rule: many parts": Case("request_rule", SECRET, "{}", "", ASKED),
    "limits: cost of a long request": Case("limits", {"p.stream.cost": "900"}, text="x " * 9, fields=ASKED),
    "llm_judge: long arguments": Case("llm_judge", JUDGE, WIDE),
    "llm_judge: a long request": Case(
        "llm_judge", {**JUDGE, "p.on": "request"}, "{}", "", ASKED
    ),
}  # fmt: skip


# The provider


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                                   "choices": [choice]}).encode() + b"\n\n"  # fmt: skip


def _hostile(case: Case) -> bytes:
    """The complete HTTP response, including its head."""
    kind, body = (_JSON, _whole(case)) if case.is_whole else (_EVENTS, _streamed(case))
    return _HEAD.format(kind).encode() + body


def _whole(case: Case) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": case.text}, "finish_reason": "stop"}
    body = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
    return (body[:-1] + f',"x":{case.beside or 0}}}').encode()


def _streamed(case: Case) -> bytes:
    if case.beside:
        return f"data: {case.around % case.beside}\n\n".encode() + _event({}, "stop") + b"data: [DONE]\n\n"
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "run", "arguments": case.arguments}}
    delta: dict[str, Any] = {"tool_calls": [call]} if case.arguments else {"content": case.text}
    return _event(delta) + _event({}, "tool_calls" if case.arguments else "stop") + b"data: [DONE]\n\n"


async def _answer(answers: list[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        model = json.loads(await reader.readexactly(size))["model"].rpartition("/")[2]
        if model == "paced":
            writer.write(_HEAD.format(_EVENTS).encode())
            while True:
                writer.write(_event({"content": f"t{time.monotonic_ns():x} "}))
                await writer.drain()
                await asyncio.sleep(_PACE_SECONDS)
        writer.write(answers[int(model.removeprefix("hostile-"))])
        await writer.drain()
    writer.close()


async def serve(port: int) -> None:
    """Run the provider until the process is killed."""
    answers = list(map(_hostile, CASES.values()))
    server = await asyncio.start_server(partial(_answer, answers), "127.0.0.1", port, limit=2**24)
    await server.serve_forever()


# The clients


async def _paced(client: httpx.AsyncClient, headers: dict[str, str]) -> AsyncIterator[tuple[float, float]]:
    """When each chunk arrived and when it was sent, in seconds."""
    body = {"model": "openai/paced", "stream": True, "messages": []}
    async with client.stream("POST", "/v1/chat/completions", json=body, headers=headers) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                left = json.loads(line[6:])["choices"][0]["delta"]["content"]
                yield time.monotonic(), int(left[1:], 16) / 1e9


async def attack(port: int, key: str, number: int, seconds: float) -> None:
    """Make a case's hostile calls for `seconds` from the first line on stdin; print how long each took (s)."""
    case = list(CASES.values())[number]
    body = {"model": f"openai/hostile-{number}", "stream": not case.is_whole, "messages": [], **case.fields}
    data = json.dumps(body).encode()
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    took: list[float] = []
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
        print("ready", flush=True)
        sys.stdin.readline()
        until = time.monotonic() + seconds
        while not took or time.monotonic() < until:
            began = time.monotonic()
            await client.post(case.path, content=data, headers=headers)
            took.append(time.monotonic() - began)
    print(json.dumps(took), flush=True)


class Seen(NamedTuple):
    """Gaps between the paced stream's chunks, their delays, and how long the hostile calls took (all in s)."""

    gaps: list[float]
    delays: list[float]
    took: list[float]

    def row(self) -> str:
        """The worst of each in ms, as cells of the table."""
        worst = [f"{max(each) * 1000:.0f}" for each in self]
        return f"{worst[0]} | {worst[1]} | {len(self.took)} | {worst[2]}"


async def _measure(gateway: gateways.Gateway, number: int, seconds: float) -> Seen:
    asked = ["attack", str(gateway.port), gateway.key, str(number), str(seconds)]
    attacker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.hostile", *asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=2**24
    )
    assert attacker.stdin
    assert attacker.stdout
    await attacker.stdout.readline()
    attacked = asyncio.ensure_future(attacker.stdout.readline())
    headers, arrivals, delays = {"authorization": f"Bearer {gateway.key}"}, list[float](), list[float]()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{gateway.port}", timeout=120) as client:
        async for came, left in _paced(client, headers):
            arrivals.append(came)
            delays.append(came - left)
            if len(arrivals) == _CALM_CHUNKS:
                attacker.stdin.write(b"begin\n")
            if attacked.done():
                break
    await attacker.wait()
    return Seen([later - before for before, later in pairwise(arrivals)], delays, json.loads(attacked.result()))


def _run(gateway: gateways.Gateway, operator: Operator, number: int, case: Case, seconds: float) -> Seen:
    if not case.kind:
        return asyncio.run(_measure(gateway, number, seconds))
    operator.make(case.kind, f"hostile-{number}", case.parameters, "*hostile-*")
    operator.set_mode(f"hostile-{number}", "enforce")
    seen = asyncio.run(_measure(gateway, number, seconds))
    operator.set_mode(f"hostile-{number}", "off")
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="for so long each kind is attacked")
    parser.add_argument("--only", default="", help="cases that have this in their name")
    asked = parser.parse_args()
    load_cpu, our_cpu = gateways.cpus()
    port = gateways.free_port()
    serving = [sys.executable, "-m", "bench.hostile", "serve", str(port)]
    with gateways.provider(serving, port, load_cpu), gateways.streamviz(port, our_cpu) as ours:
        operator = Operator(ours)
        print("| | longest gap ms | longest delay ms | hostile calls | longest of them ms |")
        print("|---|---:|---:|---:|---:|")
        for number, (name, case) in enumerate(CASES.items()):
            if asked.only in name:
                seen = _run(ours, operator, number, case, asked.seconds)
                print(f"| {name} | {seen.row()} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(int(sys.argv[2])))
    elif sys.argv[1:2] == ["attack"]:
        asyncio.run(attack(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5])))
    else:
        main()
