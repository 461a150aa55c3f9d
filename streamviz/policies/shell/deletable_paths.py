"""Which paths an operator allows commands to delete."""

from collections.abc import Sequence

from streamviz.core.model_names import fits
from streamviz.policies.shell.commands import UNKNOWN
from streamviz.policies.shell.paths import emptied, is_vital, normal
from streamviz.policies.shell.protected_paths import is_system

# Only the end of a long path says what it is: a whole project may be under `/home/me/build`.
_NEAR = 3


def may_delete(path: str, globs: Sequence[str]) -> bool:
    """Whether an operator allows this path to be deleted recursively.

    A glob that begins with `/` or `~` matches the whole path, even in system folders. Any other matches a part of the
    path.
    """
    if is_vital(path):
        return False
    path = emptied(normal(path))
    if any(fits(path, glob) for glob in globs if glob.startswith(("/", "~"))):
        return True
    inside = [glob for glob in globs if not glob.startswith(("/", "~"))]
    return not is_system(path) and any(_is_in(path, glob) for glob in inside)


def _is_in(path: str, glob: str) -> bool:
    if "/" in glob:
        return fits(path, glob) or fits(path, f"*/{glob}")
    parts = [part for part in path.split("/") if part not in ("", "~", "..", UNKNOWN)]
    return any(fits(part, glob) for part in parts[-_NEAR:])
