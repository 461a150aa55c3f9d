"""Fields by which a request names models besides its own: those are checked against no key and no policy's scope.

Routers (OpenRouter, LiteLLM's proxy, Vercel's gateway) read them, and an operator's own address may be a router too, so
that no provider gets them.
"""

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject

_NAMING = frozenset(
    "models fallbacks context_window_fallbacks content_policy_fallbacks default_fallbacks route preset model_list"
    " user_config router_settings_override".split()
)
# What routers read such fields in, or merge into the request: there the model's own name counts too.
_HOLDING = ("extra_body", "provider", "providerOptions", "provider_options")


def require_one_model(fields: JsonObject) -> None:
    """Raises RequestError (400) for a request that names other models than the one in `model`."""
    for name, value in fields.items():
        is_other_model = name != "model" and name.casefold() == "model"  # some routers do not tell capitals apart
        if is_other_model or (name in _NAMING and value is not None):
            raise _refused(name)
    for name in _HOLDING:
        _require_none_in(fields.get(name), name)


def _require_none_in(value: object, path: str) -> None:
    """Not recursive: the depth is a stranger's choice."""
    waiting = [(path, value)]
    while waiting:
        at, here = waiting.pop()
        if isinstance(here, dict):
            for name, child in here.items():
                if (name in _NAMING or name == "model") and child is not None:
                    raise _refused(f"{at}.{name}")
                waiting.append((f"{at}.{name}", child))
        elif isinstance(here, list):
            waiting += [(at, child) for child in here]


def _refused(name: str) -> RequestError:
    message = f"`{name}` is not accepted: it could name models other than `model`, which would go unchecked."
    return RequestError(400, message, code="other_models", param=name)
