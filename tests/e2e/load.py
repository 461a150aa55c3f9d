"""Many concurrent clients, each with a tape of what it received."""

import asyncio
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Self

import aiohttp

from tests.e2e.proxied import until

ENDED = b"data: [DONE]\n\n"
# Paced like a model, a little faster, and over in a few seconds.
MODEL = "content?seed={seed}&chunks=150&pace=15"
STREAM_BYTES = 49_000  # roughly, of such a call


@dataclass
class Tape:
    """One call as its client saw it: the bytes, and the longest wait between two reads (s)."""

    session: str
    received: bytearray = field(default_factory=bytearray)
    status: int = 0
    error: str = ""
    longest_wait: float = 0.0

    @property
    def is_whole(self) -> bool:
        return bytes(self.received).endswith(ENDED)


class Load:
    """Clients that call again and again, in a thread of their own, until `finish`. A client that is refused or gets no
    answer stops, as it would keep retrying and slow down the others."""

    def __init__(self, base_url: str, key: str, clients: int, model: str = MODEL) -> None:
        self.tapes: list[Tape] = []
        self._url = f"{base_url}/v1/chat/completions"
        self._key = key
        self._clients = clients
        self._model = model
        self._is_over = threading.Event()
        self._is_flowing = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def start(self) -> Self:
        """Start the clients and wait until chunks arrive."""
        self._thread.start()
        assert self._is_flowing.wait(120)
        return self

    def wait_for(self, size: int) -> None:
        """Wait until all clients together have received this many bytes."""
        until(lambda: sum(len(tape.received) for tape in self.tapes) >= size)

    def finish(self) -> list[Tape]:
        """Begin no more calls, let the running ones end by themselves, and return all tapes."""
        self._is_over.set()
        self._thread.join(240)
        assert not self._thread.is_alive()
        return self.tapes

    def once(self) -> list[Tape]:
        """Make one call, or attempt, with each client."""
        self._is_over.set()
        self._thread.start()
        self._thread.join(240)
        return self.tapes

    async def _run(self) -> None:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as http:
            await asyncio.gather(*(self._call_again(http, n) for n in range(self._clients)))

    async def _call_again(self, http: aiohttp.ClientSession, seed: int) -> None:
        while True:
            tape = Tape(str(uuid.uuid4()))
            self.tapes.append(tape)
            try:
                await self._call(http, tape, seed)
            except (aiohttp.ClientError, OSError) as error:
                tape.error = type(error).__name__
                return
            if self._is_over.is_set() or tape.status != 200:
                return

    async def _call(self, http: aiohttp.ClientSession, tape: Tape, seed: int) -> None:
        body = {
            "model": f"sim/{self._model.format(seed=seed)}",
            "stream": True,
            "messages": [{"role": "user", "content": "Hello"}],
        }
        headers = {"authorization": f"Bearer {self._key}", "x-session-id": tape.session}
        async with http.post(self._url, json=body, headers=headers) as response:
            tape.status = response.status
            read_at = time.monotonic()
            async for data in response.content.iter_any():
                now = time.monotonic()
                tape.longest_wait = max(tape.longest_wait, now - read_at)
                read_at = now
                tape.received += data
                self._is_flowing.set()
