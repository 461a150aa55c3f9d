"""Simulated streams: real calls to this server's own /v1, for people who have no client at hand."""

import asyncio
import logging

import aiohttp
from django.conf import settings
from django.utils.crypto import salted_hmac

from streamviz.core.base_urls import own_url
from streamviz.records.models import ApiKey
from streamviz.records.models.access import PREFIX, digest
from streamviz.simulator.scenarios import listing

log = logging.getLogger(__name__)

KEY_NAME = "simulated streams"
_ATTEMPTS = 20
_RETRY_SECONDS = 0.1
# By then every worker usually knows a new key. A call before that is refused, and Live says so.
_SPREAD_SECONDS = 0.5

_calls: set[asyncio.Task[None]] = set()


class DemoKeyRevoked(Exception):
    """Somebody revoked the key of simulated streams, which is to be respected."""


async def send(scenario: str) -> None:
    """Start one call, and return while it is running. Raises DemoKeyRevoked."""
    secret, is_new = await _key()
    after = _SPREAD_SECONDS if is_new else 0
    call = asyncio.create_task(_call(scenario, secret, after), name=f"simulated stream {scenario}")
    _calls.add(call)
    call.add_done_callback(_calls.discard)


async def _key() -> tuple[str, bool]:
    """The key's secret, and whether it is new. It is derived from SECRET_KEY, so every process knows it and nobody has
    to store it."""
    secret = PREFIX + salted_hmac("streamviz.dashboard.demo", KEY_NAME, algorithm="sha256").hexdigest()
    known = {"prefix": secret[:8], "digest": digest(secret)}
    key, is_new = await ApiKey.objects.aget_or_create(name=KEY_NAME, defaults=known)
    if key.is_revoked:
        raise DemoKeyRevoked
    if key.digest != known["digest"]:
        await ApiKey.objects.filter(pk=key.pk).aupdate(**known)
        is_new = True
    return secret, is_new


async def _call(scenario: str, secret: str, after: float) -> None:
    await asyncio.sleep(after)
    body = {
        "model": f"sim/{scenario}",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": f"{listing()[scenario]}, please"}],
    }
    headers = {"x-streamviz-key": secret}
    try:
        async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as client:
            await _post(client, body)
    except aiohttp.ClientError as error:
        log.warning("simulated stream %s: %s", scenario, error)


async def _post(client: aiohttp.ClientSession, body: dict[str, object]) -> None:
    """Send the call, and again for a while if it is refused: on a busy machine a new key takes longer to be known."""
    url = f"{own_url(settings.HOST, settings.PORT)}/v1/chat/completions"
    for _ in range(_ATTEMPTS):
        async with client.post(url, json=body) as response:
            if response.status != 401:
                async for _piece in response.content.iter_any():
                    pass
                return
        await asyncio.sleep(_RETRY_SECONDS)
    log.warning("simulated streams: the key is still not known")
