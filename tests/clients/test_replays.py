"""The vendors' SDKs for Node read a replayed stream at its original pace."""

import json
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from tests.clients.conftest import Between
from tests.clients.test_libraries import DRIVERS, SECONDS
from tests.e2e.proxied import MESSAGES, until

MODEL = "sim/content?seed=5&chunks=40&speed=1"
ASKED = {
    "chat": ("/v1/chat/completions", {"messages": MESSAGES}),
    "responses": ("/v1/responses", {"input": "Hello"}),
    "messages": ("/v1/messages", {"messages": MESSAGES, "max_tokens": 100}),
}
OF_SESSION = """
SELECT s.id FROM records_stream AS s JOIN records_session AS n ON n.id = session_id WHERE name = %s AND outcome <> ''
"""
OF_MODEL = "SELECT id FROM records_stream WHERE requested_model = %s AND outcome <> ''"
TEXT = "SELECT text FROM records_block WHERE stream_id = %s"
SENT = "SELECT extract(epoch FROM sent_at)::float FROM records_frame WHERE stream_id = %s ORDER BY number"


@pytest.mark.parametrize(
    ("driver", "dialect"), [("openai_node", "chat"), ("openai_node", "responses"), ("anthropic_node", "messages")]
)
def test_nodes_sdks_read_a_replay(between: Between, programs: Callable[[str], Path], driver: str, dialect: str) -> None:
    path, said = ASKED[dialect]
    between.proxied.post({"model": MODEL, "stream": True, **said}, path, x_session_id=f"original {dialect}")
    [(original,)] = until(lambda: between.proxied.query(OF_SESSION, f"original {dialect}"))
    model = f"replay/{original}"
    folder = programs("node").parents[1]
    for each in DRIVERS.glob("*.mjs"):
        shutil.copy(each, folder)
    given = {"base": between.base, "key": between.key, "dialect": dialect, "models": {"answer": model}}
    command = ["node", str(folder / f"{driver}.mjs"), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    told = json.loads(done.stdout.splitlines()[-1])
    assert [(told.get("answer"),)] == between.proxied.query(TEXT, original), told
    [(again,)] = until(lambda: between.proxied.query(OF_MODEL, model))
    gaps = [
        [later - at for (at,), (later,) in pairwise(between.proxied.query(SENT, each))] for each in (original, again)
    ]
    assert len(gaps[0]) == len(gaps[1])
    assert median(abs(one - other) for one, other in zip(*gaps, strict=True)) < 0.02
