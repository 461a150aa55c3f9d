"""/healthz and /readyz: a bare ASGI application, so that a probe needs neither a host name that Django allows nor a
session.

/readyz fails only if this worker must get no new requests. If a database, Redis or a writer is away, all workers are
affected, and no client is: the answer is still 200, and says what is `degraded`. With `?verbose` each describes all
processes of all machines, for those who may read /metrics.
"""

from urllib.parse import parse_qs

from asgiref.sync import sync_to_async
from asgiref.typing import ASGISendCallable, HTTPScope
from msgspec import to_builtins

from streamviz.core.json_value import JsonObject, encode
from streamviz.live.fleet import lacking, machines_of, versions_of
from streamviz.live.publisher import publisher
from streamviz.records import replica
from streamviz.serving.health_checks import OK, facts_now
from streamviz.serving.metrics import may_read, who_may_read


async def application(scope: HTTPScope, send: ASGISendCallable) -> None:
    """Answer 200, or 503 if /readyz finds that no new requests should come here, with the findings as JSON."""
    found: JsonObject = {"process": OK}
    status = 200
    if "verbose" in parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True):
        status, found = await _everything() if may_read(scope) else (403, {"error": who_may_read()})
    elif scope["path"] == "/readyz":
        status, found = _judged(await facts_now())
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": encode(found), "more_body": False})


def _judged(facts: dict[str, str]) -> tuple[int, JsonObject]:
    """The status that says whether new requests should come here, and the findings."""
    degraded = [name for name, said in facts.items() if said != OK]
    is_ready = facts["server"] == OK
    state = "not ready" if not is_ready else f"degraded: {', '.join(degraded)}" if degraded else OK
    return (200 if is_ready else 503), {"state": state, **facts}


async def _everything() -> tuple[int, JsonObject]:
    """What this server finds, and what each process of each machine reports about itself."""
    machines = machines_of(publisher.members())
    status, found = _judged({**await facts_now(), "servers": "; ".join(lacking(machines)) or OK})
    told = {"versions": versions_of(machines), "machines": [to_builtins(machine._asdict()) for machine in machines]}
    return status, {**found, **await _replica(), **told}


async def _replica() -> JsonObject:
    """How far the replica is behind, in seconds; empty if there is none."""
    if not replica.is_set():
        return {}
    await sync_to_async(replica.health.is_usable)()
    return {"replica": {"state": replica.health.trouble or OK, "lag_seconds": replica.health.lag}}
