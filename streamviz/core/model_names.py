"""Names with wildcards, as operators write them, and all names of one model."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

SIMULATOR = "simulator"
SIMULATOR_PREFIX = "sim/"
REPLAY = "replay"
REPLAY_PREFIX = "replay/"

# What some models add to a tool's name, and some clients take away again: Kimi's count of its calls (`bash:0`), and
# the brackets of a call.
_ADDED = re.compile(r"(\(\)|:\d+)\Z")
_ALIKE = str.maketrans({"-": "_", " ": "_", "/": ".", ":": "."})


def fits(name: str, glob: str) -> bool:
    """Whether a glob matches a name: `*` is any text, `?` any character. Nothing else is special, as names of models
    contain brackets (`claude-opus-4[1m]`)."""
    return fnmatchcase(name, glob.replace("[", "[[]"))


def matches(name: str, globs: tuple[str, ...]) -> bool:
    """Whether one of the globs matches; no globs match everything."""
    return not globs or any(fits(name, glob) for glob in globs)


def fits_in_any_case(name: str, glob: str) -> bool:
    """The same for names that clients may take for each other if only their case differs."""
    return fits(name.lower(), glob.lower())


def fits_called(name: str, glob: str) -> bool:
    """Whether a glob matches the name of a tool that a model calls, or one that a client may run for it. Some clients
    overlook case, blanks around a name and what comes before a point, slash or colon (`functions.bash`), and take
    hyphens and blanks for underscores."""
    called, wanted = _looked_up(name), glob.lower().translate(_ALIKE)
    return fits_in_any_case(name, glob) or fits(called, wanted) or fits(called, f"*.{wanted}")


def without_blanks(name: str) -> str:
    """A name without the blanks around it, of which JavaScript takes a byte order mark for one."""
    return name.replace("\ufeff", "").strip()


def _looked_up(name: str) -> str:
    return _ADDED.sub("", without_blanks(name).lower()).strip().translate(_ALIKE)


def model_names(asked: str, provider: str = "", model: str = "") -> tuple[str, ...]:
    """All names of the model that is called, its provider's name for it first.

    `asked` is what the client wrote, `provider` and `model` are where that leads. `gpt-4o`, `openai/gpt-4o` and a route
    to it are one model, so what is set for one name holds for the others; the same goes for the prefixes of providers
    that call others (`openrouter/openai/gpt-4o`). A simulated model has no other names.
    """
    if not model or asked == SIMULATOR_PREFIX + model:
        return (asked,)
    parts = f"{provider}/{model}".split("/")
    return tuple(dict.fromkeys([model, *("/".join(parts[n:]) for n in range(len(parts))), asked]))


def matching(names: Iterable[str], globs: Iterable[str]) -> str:
    """The first glob that matches one of these names, in any case; empty if none does."""
    folded = [name.lower() for name in names]
    return next((glob for glob in globs if any(fits(name, glob.lower()) for name in folded)), "")
