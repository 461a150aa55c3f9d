"""Fields of a request: those that mean nothing, and those for which it is refused."""

from streamviz.core.errors import RequestError, wrong_type
from streamviz.core.json_value import JsonObject
from streamviz.upstream.targets import Target

# Hints to the client's own vendor: about caches, records, billing, effort, filters, the cost of images, and how its
# events are written.
HINTS = frozenset(
    "betas cache_control client_metadata context_management diagnostics inference_geo labels mediaResolution prediction"
    " prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort safetySettings safety_identifier"
    " seed service_tier speed store stream_options truncation user verbosity".split()
)
# Values that mean the same as leaving the field out.
_USUAL: JsonObject = {
    "background": False,
    "container": {},
    "frequency_penalty": 0,
    "functions": [],
    "logit_bias": {},
    "logprobs": False,
    "max_tool_calls": 0,
    "mcp_servers": [],
    "modalities": ["text"],
    "n": 1,
    "parallel_tool_calls": True,
    "presence_penalty": 0,
    "previous_response_id": "",
    "responseLogprobs": False,
    "responseModalities": ["TEXT"],
    "stop": [],
    "top_logprobs": 0,
}


def is_usual(name: str, value: object) -> bool:
    """Whether a field means the same as if it were left out."""
    return name in _USUAL and value == _USUAL[name]


def object_out(fields: JsonObject, name: str) -> JsonObject:
    """Take out a field that must be an object. Raises RequestError (400) if it is there and is not one."""
    value = fields.pop(name, {})
    if not isinstance(value, dict):
        raise wrong_type(name, "an object")
    return value


def list_out(fields: JsonObject, name: str) -> list[object]:
    """The same for a list."""
    value = fields.pop(name, [])
    if not isinstance(value, list):
        raise wrong_type(name, "a list")
    return value


def refusal(target: Target, name: str) -> RequestError:
    """The error for a parameter, or something said, that changes the answer and that the provider does not have."""
    message = (
        f"`{name}` changes the answer, and {target.provider}/{target.model} is called in a format that"
        f" does not have it. Leave it out, or ask for a model whose provider speaks {target.wire_format}."
    )
    return RequestError(400, message, code="unsupported_parameter", param=name)
