"""JSON paths into the arguments of a tool call."""

import re

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError

from streamviz.core.errors import PolicyParametersError

# The most selectors in one pair of brackets, if they may find the same thing.
MOST_SELECTORS = 10
_NAME = r"(?:'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")"
# Names in brackets, or any other quoted text.
_QUOTED = re.compile(rf"\[\s*+(?P<names>(?:{_NAME}\s*+,\s*+)*+{_NAME})\s*+\]|{_NAME}")


class _Paths(JSONPathEnvironment):
    """RFC 9535 without its functions for regular expressions, which use Python's `re`."""

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        del self.function_extensions["match"], self.function_extensions["search"]


_paths = _Paths(strict=True)


def compile_path(path: str, field: str) -> JSONPath:
    """Compile a JSON path (RFC 9535). Raises PolicyParametersError if it is invalid, such as one that does not begin
    with `$`, or could search everything again for each thing found: arguments can be long."""
    bare = _QUOTED.sub(_unquoted, path)
    if bare.count("..") > 1 or bare.count("$") > 1:
        raise PolicyParametersError(f"{field}: at most one `..`, and no `$` but the first", field)
    # `[*,*]` finds everything twice, and twice as often with each repetition.
    lists = [part for part in bare.split("]") if "," in part]
    if len(lists) > 1 or bare.count(",") >= MOST_SELECTORS:
        several = f"several selectors in one pair of brackets only, and at most {MOST_SELECTORS}"
        raise PolicyParametersError(f"{field}: {several}; lists of different names do not count", field)
    try:
        compiled = _paths.compile(path)
    except JSONPathError as error:
        reason = error.args[0] if error.args else "it cannot be read"
        raise PolicyParametersError(f"{field}: not a JSON path: {reason}", field) from None
    if not isinstance(compiled, JSONPath):
        raise PolicyParametersError(f"{field}: one path, not several joined", field)
    return compiled


def names_in(path: str) -> set[str]:
    """The names of members in a path or an expression, and other words in it."""
    quoted = re.findall(_NAME, path)
    return {*re.findall(r"\w+", re.sub(_NAME, " ", path)), *(name[1:-1] for name in quoted)}


def _unquoted(found: re.Match[str]) -> str:
    """Nothing for a quoted text, nor for names in brackets that are all different: these never find a thing twice. Of
    other names, the commas and the closing bracket remain. A name with an escape may be the same as another one."""
    names = [name[1:-1] for name in re.findall(_NAME, found["names"] or "")]
    if len(set(names)) == len(names) and not (len(names) > 1 and "\\" in found[0]):
        return ""
    return "," * (len(names) - 1) + "]"
