"""Requests that are refused before they become a stream: each is logged, with the id that its client gets."""

import logging

from asgiref.typing import HTTPScope

from streamviz.core.errors import ClientFacingError
from streamviz.proxy import http, metrics
from streamviz.records.ids import uuid7

log = logging.getLogger(__name__)
_LONGEST_PATH = 200
_IDS = ("request-id", "x-request-id")


def refused(scope: HTTPScope, path: str, error: ClientFacingError) -> dict[str, str]:
    """Log a refusal, and return the headers with its id, of which each vendor's SDK shows one. If upstream gave a
    request id, the client keeps that. A call that became a stream is on record, and was not refused."""
    if http.STREAM in error.headers:
        return {}
    metrics.refused(error.status)
    given = next((error.headers[name] for name in _IDS if name in error.headers), "")
    id = given or str(uuid7())
    client = http.header(scope, b"user-agent")[:_LONGEST_PATH]
    said = (id, error.status, error.code or error.kind, path[:_LONGEST_PATH], client)
    log.info("refused %s: %d %s %r, of %r", *said, extra={"fields": {"request_id": id, "status": error.status}})
    return {} if given else dict.fromkeys(_IDS, id)
