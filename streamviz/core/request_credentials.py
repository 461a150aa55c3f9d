"""Credentials that a request carries for third parties, where formats have a place for them: for MCP servers,
sandboxes, searches and clouds, and in the addresses of pictures and files. They go upstream, and are kept nowhere."""

import re
from collections.abc import Callable, Mapping
from operator import is_not

from streamviz.core.json_value import JsonObject, as_object

MASK = "***"
# No server has a longer one.
_LONGEST_ADDRESS = 2_000
# What readers of addresses skip anywhere in one, and what before it: controls, and characters that cannot be seen.
_SKIPPED = re.compile(r"[\t\r\n]")
_BLANK = "".join(map(chr, range(0x21))) + "\x85\xa0\xad\u1680\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
_BLANK += "".join(map(chr, range(0x2000, 0x2010)))
_SCHEME = r"(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}"
_HAS_SCHEME = re.compile(_SCHEME, re.IGNORECASE)
_PARTS = re.compile(rf"({_SCHEME}[/\\]*)?([^/\\?#]*@)?([^?#]*)(\?[^#]*)?(#.*)?", re.IGNORECASE | re.DOTALL)
_HYPHENS = str.maketrans("", "", "_-")
# No place has a longer one. Letters other than ASCII's take long: other threads wait meanwhile.
_LONGEST_NAME = 1_000
_HOLDING: frozenset[type] = frozenset({dict, list})
Change = Callable[[object], object]
Places = Mapping[str, "Places | Change"]


def _masked(value: object) -> object:
    return MASK if value and value is not True else value


def _plain(value: object) -> object:
    """Keep what describes a credential but is not one."""
    return value


def _bare_address(value: object) -> object:
    """An address without user and password, its query and fragment masked: many servers have secrets there."""
    if not isinstance(value, str) or not _may_have_secret(value):
        return value
    if len(value) > _LONGEST_ADDRESS:
        return MASK
    found = _PARTS.fullmatch(_SKIPPED.sub("", value).strip(_BLANK))
    assert found is not None  # every part may be empty
    begins, _, place, query, fragment = found.groups("")
    masked = (mark + MASK for mark in (query[:1], fragment[:1]) if mark)
    return "".join((begins, place, *masked))


def _may_have_secret(address: str) -> bool:
    return any(mark in address for mark in "@?#") and not address.startswith("data:")


def _medium(value: object) -> object:
    """A picture, a file, a sound or a film: an address, which may be signed, or an object with one."""
    if isinstance(value, str):
        return _bare_address(value) if _may_have_secret(value) and _is_address(value) else value
    return _changed(value, _MEDIUM)


def _is_address(value: str) -> bool:
    """Whether a text in an address's place is one: it has a scheme, or is a single word."""
    value = _SKIPPED.sub("", value).lstrip(_BLANK)
    return bool(_HAS_SCHEME.match(value)) or len(value.split(maxsplit=1)) == 1


# Where a part of a message has a medium, and where a medium has its address.
_SHOWN = "imageurl image videourl audiourl documenturl fileurl filedata file"
_MEDIUM: Places = dict.fromkeys((*_SHOWN.split(), "url", "fileuri"), _medium)
# One of these, by the end of its name, with what may be an address with a secret: few requests have any, and looking at
# each part of a long conversation takes ten times as long as finding that out.
_SHOWS = re.compile(
    rb'":(?:(?<=ur[li]":)|(?<=file":)|(?<=data":)|(?<=image":))"(?!data:)[^"\\?@#]*+(?:\\.[^"\\?@#]*+)*+[?@#]',
    re.IGNORECASE,
)
# A part of a message, an item, or a result of a tool.
_PART: dict[str, Places | Change] = dict.fromkeys(_SHOWN.split(), _medium)
_PART["source"] = {"url": _medium, "content": _PART}
_PART |= dict.fromkeys(("content", "output", "parts", "functionresponse", "images"), _PART)
_HEADERS: Places = {"*": _masked}
_SECRETS: Places = {"networkpolicy": {"domainsecrets": {"domain": _plain, "name": _plain, "*": _masked}}}
_TRANSPORT: Places = {"url": _bare_address, "headers": _HEADERS}
_GOOGLES: Places = {
    "url": _bare_address,
    "streamablehttptransport": _TRANSPORT,
}
_GOOGLES_AUTH: Places = {
    "authtype": _plain,
    "*": _masked,
    "apikeyconfig": {"apikeystring": _masked},
    "oauthconfig": {"accesstoken": _masked},
    "oidcconfig": {"idtoken": _masked},
}
_AUTHENTICATION: Places = {"type": _plain, "*": _masked}
_SERVER: Places = {"authorizationtoken": _masked, "authorization": _masked, "url": _bare_address, "headers": _HEADERS}
_OPTIONS: Places = {"apikey": _masked, "headers": _HEADERS, "byok": _HEADERS}
_TOOL: dict[str, Places | Change] = {
    # OpenAI's MCP servers
    "authorization": _masked,
    "headers": _HEADERS,
    "serverurl": _bare_address,
    # xAI's
    "extraheaders": _HEADERS,
    # the part of a picture that may be changed
    "inputimagemask": _MEDIUM,
    # and sandboxes
    "container": _SECRETS,
    "environment": _SECRETS,
    # Google's MCP servers
    "mcpservers": _GOOGLES,
    # searches and maps
    "retrieval": {"externalapi": {"apiauth": _GOOGLES_AUTH, "authconfig": _GOOGLES_AUTH, "endpoint": _bare_address}},
    "googlemaps": {"authconfig": _GOOGLES_AUTH},
    "exaaisearch": {"apikey": _masked},
    "parallelaisearch": {"apikey": _masked},
}
_TOOL["tools"] = _TOOL
# By names in lower case without underscores and hyphens, as some providers accept them in any case and form; for a list
# they hold for each element. * is any other name; if that is masked, so is anything in place of the object.
_PLACES: dict[str, Places | Change] = {
    # Anthropic's MCP servers, in a list or by their names
    "mcpservers": {**_SERVER, "*": _SERVER},
    "tools": _TOOL,
    # what a search for tools found
    "input": {"tools": _TOOL},
    # Azure's searches
    "datasources": {
        "parameters": {
            "authentication": _AUTHENTICATION,
            "embeddingdependency": {"authentication": _AUTHENTICATION},
            "key": _masked,
        }
    },
    # Groq's tools
    "compoundcustom": {"tools": {"wolframsettings": _HEADERS}},
    # what LiteLLM takes beside a model's parameters
    "apikey": _masked,
    "awssecretaccesskey": _masked,
    "awssessiontoken": _masked,
    "azureadtoken": _masked,
    "clientsecret": _masked,
    "vertexcredentials": _masked,
    "apibase": _bare_address,
    "baseurl": _bare_address,
    "headers": _HEADERS,
    "extraheaders": _HEADERS,
    "extraquery": _HEADERS,
    # routers' own
    "plugins": _OPTIONS,
    "provider": _OPTIONS,
    "provideroptions": {"*": _OPTIONS},
}
# The same, and what a model is shown.
_ALL_PLACES: dict[str, Places | Change] = {
    **_PLACES,
    **dict.fromkeys(("messages", "contents", "systeminstruction", "items", "images"), _PART),
    "input": {**_PART, "tools": _TOOL},
    "prompt": {"variables": {"*": _PART}},
    # what pictures, films, texts and speech are made of
    **_MEDIUM,
    **dict.fromkeys(("document", "mask", "inputreference"), _MEDIUM),
}
# What is around a request, or a part of it: members that LiteLLM adds, realtime sessions, and the batches of Anthropic,
# OpenAI and Google.
for _places in (_PLACES, _ALL_PLACES):
    _places |= dict.fromkeys(("extrabody", "session", "params", "requests", "body", "request"), _places)


def without_credentials(fields: JsonObject, body: bytes) -> JsonObject:
    """A request, whose compact JSON is `body`, with a mask in place of each such credential; the same object if it has
    none."""
    return as_object(_changed(fields, _ALL_PLACES if _SHOWS.search(body) else _PLACES))


def _changed(value: object, places: Places) -> object:
    """A value with the members in `places` changed; the same object if none is."""
    is_any_masked = callable(places.get("*"))
    if isinstance(value, list):
        if not is_any_masked and _HOLDING.isdisjoint(map(type, value)):
            return value  # such as hundreds of thousands of numbers to embed
        items = [_changed(each, places) for each in value]
        return items if any(map(is_not, items, value)) else value
    if not isinstance(value, dict):
        return _masked(value) if is_any_masked else value
    new, others = {}, places.get("*")
    for name, member in value.items():
        place = places.get(name[:_LONGEST_NAME].lower().translate(_HYPHENS), others)
        if place is None:
            continue
        changed = place(member) if callable(place) else _changed(member, place)
        if changed is not member:
            new[name] = changed
    return {**value, **new} if new else value
