"""Errors as Google's APIs report them: https://google.aip.dev/193."""

import re

from streamviz.core.events import StreamFailed
from streamviz.core.json_value import JsonObject

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_CODES = {status: code for code, status in STATUSES.items()} | {
    "authentication_error": 401,
    "permission_error": 403,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 503,
    "timeout_error": 504,
    "upstream_error": 503,
}

_HTTP_STATUS = re.compile(r"[45][0-9]{2}")
_BARE = re.compile(rb'\{\s*"error"\s*:')


def bare_error(raw: bytes) -> bytes | None:
    """The JSON of an event that is an error without `data:`, over any number of lines: Google ends streams that way,
    and its clients read it."""
    text = raw.strip()
    return text if _BARE.match(text) and text.endswith(b"}") else None


def error_body(message: str, code: int, reason: str | None = None) -> JsonObject:
    """Google's error object for an HTTP status; `reason` says why in one word."""
    status = STATUSES.get(code) or ("INVALID_ARGUMENT" if code < 500 else "UNAVAILABLE")
    error: JsonObject = {"code": code, "message": message, "status": status}
    if reason:
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        error["details"] = [{"@type": kind, "reason": reason.upper(), "domain": "streamviz"}]
    return {"error": error}


def code_of(kind: str) -> int:
    """The HTTP status for a kind of error of any format."""
    return _CODES.get(kind, 500)


def error_of(failure: StreamFailed) -> JsonObject:
    """A failure as Google's error object. Google's own codes are HTTP statuses; those of Z.ai, MiniMax and Mistral are
    other numbers, for which Google's SDKs have no error."""
    is_status = _HTTP_STATUS.fullmatch(failure.code) is not None
    code = int(failure.code) if is_status else code_of(failure.kind)
    return error_body(failure.message, code, None if is_status else failure.code)
