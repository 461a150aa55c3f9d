"""python: a policy of your own."""

from importlib import import_module

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.core.policy import Policy
from streamviz.policies.parameters import check

PARAMETERS_SCHEMA: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "required": ["path"],
    "properties": {
        "path": {
            "type": "string",
            "pattern": r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
            "description": "Class to load, e.g. my_policies.quiet.Quiet.",
        },
        "parameters": {
            "type": "object",
            "description": "Arguments for the class.",
            "examples": [{"longest": 400}],
        },
    },
}


def python(parameters: JsonObject) -> Policy:
    """Runs a subclass of Policy that you wrote: `path` is where it is (`package.module.Class`, importable by the
    server), `parameters` are what it is created with. docs/policies.md is the guide.

    It runs inside the server, with all of the server's rights.
    """
    check(parameters, PARAMETERS_SCHEMA)
    path = as_text(parameters["path"])
    module, _, name = path.rpartition(".")
    try:
        found: object = vars(import_module(module)).get(name)
    except BaseException as error:  # Importing runs the module, which may raise anything.
        raise PolicyParametersError(f"path: {module} cannot be imported: {error}", "path") from error
    if not isinstance(found, type) or not issubclass(found, Policy):
        raise PolicyParametersError(f"path: {path} is not a subclass of Policy", "path")
    try:
        return found(as_object(parameters.get("parameters")))
    except PolicyParametersError:
        raise
    except BaseException as error:
        raise PolicyParametersError(f"parameters: {type(error).__name__}: {error}", "parameters") from error
