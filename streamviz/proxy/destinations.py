"""Where a request that is passed through goes, and whether it may: to a known provider, below that provider's
address."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

import msgspec
from asgiref.typing import HTTPScope
from django.conf import settings

from streamviz.core.errors import RequestError
from streamviz.core.json_value import as_object, as_text, decode, encode, has_more_values
from streamviz.core.model_names import SIMULATOR
from streamviz.core.verdicts import Mode
from streamviz.core.wire import ANTHROPIC_MESSAGES, OPENAI_CHAT
from streamviz.core.wire_format import WireFormat
from streamviz.proxy import http
from streamviz.proxy.passed_bodies import BOUNDARY
from streamviz.proxy.paths import no_such
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.upstream.providers import PROVIDERS
from streamviz.upstream.targets import Lane, Target

PROVIDER = b"x-streamviz-provider"
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# A path that every reader takes for plain words.
_PATH = re.compile(r"/v1(?:/(?!\.)[A-Za-z0-9_.~:@=-]+)+/?")
_MOST_QUERY = 4_000
# The header of a form's part that names the model, as requests for sounds and images have it.
_NAMES_MODEL = re.compile(rb'\r\ncontent-disposition: *form-data; *name="?model"?(?:\r\n|\Z)', re.I)
# How many parts of a form are searched for the model, and how long that part's head and its value may be.
_MOST_PARTS, _LONGEST_HEAD, _LONGEST_NAME = 100, 2_000, 300
# Longer JSON is only split into its members, and JSON with more values is not read: nothing else would run meanwhile.
_LONG_BYTES, _MOST_VALUES = 100_000, 100_000


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a request goes. `model` is what the client named, a model or a provider; `body` has the provider's own name
    for that model."""

    target: Target
    url: str
    model: str
    body: bytes

    @property
    def headers(self) -> Mapping[str, str]:
        return self.target.headers


def require_unjudged(worker: Worker, key: KnownKey) -> None:
    """Raises RequestError (403) if a policy would have to judge a request that is not read here.

    A key for certain models opens no other endpoints, as those may call any model.
    """
    if key.models:
        raise _forbidden(
            f"The API key {key.name} is limited to certain models, so it cannot be used for other endpoints.",
            "key_limited",
        )
    policies = worker.configuration.policies_of(key.name)
    enforced = [active for active in policies if active.mode is Mode.ENFORCE and not active.policy.judges_unread]
    if enforced:
        message = f"Requests that policies cannot read are refused while {enforced[0].name} is enforced for this key."
        raise _forbidden(message, "denied_by_policy")


async def destination_of(worker: Worker, scope: HTTPScope, body: bytes, key: KnownKey) -> Destination:
    """Raises RequestError if no provider is named (404), or none to which this may go."""
    path = _plain_path(scope)
    model, spoken, target = await _served(worker, scope, _named(worker, scope, body, key))
    if target.provider == SIMULATOR:
        raise no_such(path)  # the simulator has no other endpoints
    if target.lane is not Lane.RAW:
        message = (
            f"Requests cannot be passed through to {target.provider}, which does not speak this format. Name another"
            f" provider in {PROVIDER.decode()}."
        )
        raise RequestError(400, message, code="provider_not_passed_to")
    if settings.CLIENT_CREDENTIALS and (credentials := http.credentials(scope)):
        target = target.with_key(*credentials[0])
    target.require_key()
    root = target.url.removesuffix(spoken.upstream_path)
    url = root + path.removeprefix(spoken.base_path) + _query(scope)
    return Destination(target, url, model, _renamed(body, scope, model, target.model))


def _plain_path(scope: HTTPScope) -> str:
    path = scope["path"]
    if b"%" in scope["raw_path"] or not _PATH.fullmatch(path):
        raise no_such(path)
    return path


def _query(scope: HTTPScope) -> str:
    """The query string, re-encoded byte by byte: only its recipient knows its character encoding."""
    query = scope["query_string"].decode("latin-1")
    if len(query) > _MOST_QUERY:
        raise RequestError(414, f"The query string has more than {_MOST_QUERY:,} characters.", code="too_large")
    sent = parse_qsl(query, keep_blank_values=True, encoding="latin-1")
    kept = [(name, value) for name, value in sent if name != "key"]
    return f"?{urlencode(kept, encoding='latin-1')}" if kept else ""


async def _served(worker: Worker, scope: HTTPScope, names: Sequence[str]) -> tuple[str, WireFormat, Target]:
    """The first of these names that is served, with its format and target."""
    *others, last = names
    for name in others:
        with suppress(RequestError):
            return await _asked(worker, scope, name)
    return await _asked(worker, scope, last)


async def _asked(worker: Worker, scope: HTTPScope, name: str) -> tuple[str, WireFormat, Target]:
    is_anthropic = name.startswith("anthropic/") or bool(http.header(scope, b"anthropic-version"))
    spoken = ANTHROPIC_MESSAGES if is_anthropic else OPENAI_CHAT
    return name, spoken, await worker.target_for(name, spoken.name)


def _named(worker: Worker, scope: HTTPScope, body: bytes, key: KnownKey) -> list[str]:
    """The names to try: the provider or route that the client names, or else the model in the body and, if nobody
    serves that, the key's provider."""
    if name := http.header(scope, PROVIDER).strip():
        return [_any_of(worker, name)]
    names = [model] if (model := _model_in(scope, body)) else []
    if key.default_provider:
        names.append(_any_of(worker, key.default_provider))
    if names:
        return names
    path = scope["path"][:200]
    message = f"There is no {path} here. To pass it through, name a provider in {PROVIDER.decode()}."
    raise RequestError(404, message, kind="not_found_error", code="unknown_url")


def _any_of(worker: Worker, name: str) -> str:
    """A route, or any model of a provider. Raises RequestError (404) if there is neither."""
    if name in worker.configuration.routes:
        return name
    if name in PROVIDERS:
        return f"{name}/any"
    raise RequestError(404, f"There is no provider or route named `{name[:100]}`.", code="unknown_provider")


def _model_in(scope: HTTPScope, body: bytes) -> str:
    """The model that a JSON body or a form names; empty if it names none. Raises RequestError (413) if there is too
    much to read."""
    kind = http.header(scope, b"content-type").lower()
    if kind.startswith("multipart/form-data"):
        place = _model_in_form(scope, body)
        return body[place].decode("utf-8", "replace").strip() if place else ""
    if "json" not in kind:
        return ""
    if has_more_values(body, _MOST_VALUES):
        message = f"JSON of more than {_MOST_VALUES:,} values is not read here: name a provider in {PROVIDER.decode()}."
        raise RequestError(413, message, code="too_large")
    try:
        if len(body) > _LONG_BYTES:
            return as_text(decode(bytes(_members.decode(body).get("model", b"null"))))
        return as_text(as_object(decode(body)).get("model"))
    except (ValueError, RecursionError):
        return ""


def _model_in_form(scope: HTTPScope, body: bytes) -> slice | None:
    """Where a form has the name of the model. Parts are found by their boundary alone: a form may have megabytes, and
    the search must not hold others up."""
    boundary = BOUNDARY.search(http.header(scope, b"content-type"))
    if boundary is None:
        return None
    mark = f"--{boundary[1] or boundary[2]}".encode()
    start = body.find(mark)
    for _ in range(_MOST_PARTS):
        behind = body.find(b"\r\n" + mark, start)
        if min(start, behind) < 0:
            break
        head = body.find(b"\r\n\r\n", start, min(start + _LONGEST_HEAD, behind))
        if head >= 0 and behind - head - 4 <= _LONGEST_NAME and _NAMES_MODEL.search(body, start, head):
            return slice(head + 4, behind)
        start = behind + 2
    return None


def _renamed(body: bytes, scope: HTTPScope, model: str, upstream: str) -> bytes:
    """The body with its model renamed, if it names this one; everything else keeps its bytes."""
    if model == upstream or http.header(scope, PROVIDER).strip() or _model_in(scope, body) != model:
        return body
    if http.header(scope, b"content-type").lower().startswith("multipart/"):
        place = _model_in_form(scope, body)
        return body[: place.start] + upstream.encode() + body[place.stop :] if place else body
    return encode({**_members.decode(body), "model": upstream})


def _forbidden(message: str, code: str) -> RequestError:
    return RequestError(403, message, kind="permission_error", code=code)
