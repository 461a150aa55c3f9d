"""The CA certificates that HTTP clients trust: loading them takes each client 50 ms of CPU."""

import os
import ssl
from functools import cache
from typing import Any, cast

from httpx._transports import default

_read = default.create_ssl_context


def read_once() -> None:
    """Have this process load each certificate file only once; such files do not change during a test run."""
    default.create_ssl_context = cast(Any, _kept)


def _kept(**options: Any) -> ssl.SSLContext:
    return _read_from(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"), **options)


@cache
def _read_from(file: str | None, folder: str | None, **options: Any) -> ssl.SSLContext:
    return _read(**options)
