"""Names with wildcards, as operators write them."""

from fnmatch import fnmatchcase


def fits(name: str, glob: str) -> bool:
    """Whether a glob means a name: `*` is any text, `?` any character. Nothing else is special: names of models have
    brackets (`claude-opus-4[1m]`)."""
    return fnmatchcase(name, glob.replace("[", "[[]"))
