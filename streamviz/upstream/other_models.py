"""Fields by which a request names models other than its own, which are not checked against the key or the scope of any
policy.

Routers (OpenRouter, LiteLLM's proxy, Vercel's gateway) read them. An operator's own address may be a router too, so no
provider gets them.
"""

from typing import NamedTuple

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_text
from streamviz.core.request_tools import OWN_KINDS, every_tool

_NAMING = frozenset(
    "models fallbacks context_window_fallbacks content_policy_fallbacks default_fallbacks route preset model_list"
    " user_config router_settings_override".split()
)
# Fields in which routers read such names, or which they merge into the request: inside these `model` counts too.
_HOLDING = frozenset(("extra_body", "provider", "providerOptions", "provider_options", "plugins"))


def require_one_model(fields: JsonObject) -> None:
    """Raises RequestError (400) for a request that names other models than the one in `model`."""
    for name, value in fields.items():
        is_other_model = name != "model" and name.casefold() == "model"  # some routers ignore case
        if is_other_model or (name in _NAMING and value is not None):
            raise _refused(name)
        if name in _HOLDING:
            _require_none_in(value, _Place(name))


def called_by_tools(fields: JsonObject) -> set[str]:
    """The models that a request's tools call at the provider, such as an advisor or an image model."""
    tools = (tool for tool in every_tool(fields) if as_text(tool.get("type")) not in OWN_KINDS)
    return {name for tool in tools if (name := as_text(tool.get("model")))}


class _Place(NamedTuple):
    """Where something is in a request. As a text it would repeat all the names above it, for each value."""

    name: str
    above: "_Place | None" = None

    def __str__(self) -> str:
        names, place = [self.name], self.above
        while place is not None:
            names.append(place.name)
            place = place.above
        return ".".join(reversed(names))


def _require_none_in(value: object, place: _Place) -> None:
    """Not recursive, because a stranger chooses the depth."""
    waiting = [(place, value)]
    while waiting:
        at, here = waiting.pop()
        if isinstance(here, dict):
            for name, child in here.items():
                if (name in _NAMING or name == "model") and child is not None:
                    raise _refused(str(_Place(name, at)))
                if isinstance(child, dict | list):
                    waiting.append((_Place(name, at), child))
        elif isinstance(here, list):
            waiting += [(at, child) for child in here]


def _refused(name: str) -> RequestError:
    message = f"`{name}` is not accepted: it could name models other than `model`, which would go unchecked."
    return RequestError(400, message, code="other_models", param=name)
