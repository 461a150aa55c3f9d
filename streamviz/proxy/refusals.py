"""Requests that are refused before they become streams: each is logged with the id that its client gets, and noted for
the page of refused requests."""

import logging
import re
from functools import partial
from http import HTTPStatus
from typing import Any

from asgiref.typing import HTTPScope

from streamviz.core.errors import ClientFacingError
from streamviz.core.masking import kept_text
from streamviz.core.policy import ActivePolicy
from streamviz.live.feed import feed, now_us
from streamviz.live.refusals import Refusal
from streamviz.logs import redact
from streamviz.proxy import http, metrics
from streamviz.proxy.worker import worker
from streamviz.records.ids import uuid7

log = logging.getLogger(__name__)
_LONGEST_PATH = 200
# How many characters of a text pages show, and how many are searched for what to hide. If a text is longer, a short
# word at the cut is left out: it may be the beginning of a credential.
_SHOWN, _SEARCHED = 300, 400
_CUT_OFF = re.compile(r"[\w.@-]{1,24}$")
_IDS = ("request-id", "x-request-id")
_MODEL = "streamviz.model"


def about_model(scope: HTTPScope, name: str) -> None:
    """Note the model that a request names, in case it is refused."""
    extensions: Any = scope.get("extensions")
    if extensions is not None:
        extensions[_MODEL] = name


def _model_of(scope: HTTPScope) -> str:
    extensions: Any = scope.get("extensions") or {}
    return str(extensions.get(_MODEL, ""))


def refused(scope: HTTPScope, path: str, error: ClientFacingError) -> dict[str, str]:
    """Log and note a refusal, and return the headers with its id; each vendor's SDK shows one of them. If upstream gave
    a request id, that is used. A call that became a stream was not refused: the record has it."""
    if http.STREAM in error.headers:
        return {}
    metrics.refused(error.status)
    given = next((error.headers[name] for name in _IDS if name in error.headers), "")
    id = given or str(uuid7())
    note(scope, path, error, id)
    client = http.header(scope, b"user-agent")[:_LONGEST_PATH]
    said = (id, error.status, error.code or error.kind, path[:_LONGEST_PATH], client)
    log.info("refused %s: %d %s %r, of %r", *said, extra={"fields": {"request_id": id, "status": error.status}})
    return {} if given else dict.fromkeys(_IDS, id)


def note(scope: HTTPScope, path: str, error: ClientFacingError, id: str = "") -> None:
    """Keep a refusal for the pages, without credentials and without what policies mask."""
    if error.status == HTTPStatus.UPGRADE_REQUIRED:
        return  # Codex tries a websocket before each session, and works without one
    key, is_revoked = worker.key_name_of(scope)
    kept = partial(_kept, worker.configuration.policies_of_all())
    client, now = scope.get("client"), now_us()
    feed.refusals.note(
        Refusal(
            status=error.status,
            code=kept(error.code or error.kind),
            message=kept(error.message),
            path=kept(path),
            user_agent=kept(http.header(scope, b"user-agent")),
            key=key,
            model=kept(_model_of(scope)),
            is_revoked=is_revoked,
            client=client[0] if client else "",
            request_id=kept(id),
            first_at=now,
            last_at=now,
        )
    )


def _kept(policies: list[ActivePolicy], text: str) -> str:
    hidden = kept_text(redact(text[:_SEARCHED]), policies)
    return (hidden if len(text) <= _SEARCHED else _CUT_OFF.sub("", hidden))[:_SHOWN]
