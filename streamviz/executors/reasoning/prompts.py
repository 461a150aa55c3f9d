"""The prompts for the model, in files: the package's, or an operator's in their place."""

from pathlib import Path
from string import Template
from typing import NamedTuple

_OWN = Path(__file__).parent / "prompts"
_MOST_BYTES = 100_000


class Prompts(NamedTuple):
    """`plan` is the prompt for planning, with the available `$tools`; `schema` is added, with the `$schema` of a plan,
    if the model is not held to it otherwise; `answer` is the prompt for writing the answer."""

    plan: str
    schema: str
    answer: str

    def planning(self, tools: str, schema: str) -> str:
        """The prompt for planning; if `schema` is empty, it says nothing of a schema."""
        told = Template(self.plan).safe_substitute(tools=tools)
        return told + "\n" + Template(self.schema).safe_substitute(schema=schema) if schema else told


def prompts_in(folder: Path | None) -> Prompts:
    """The prompts: each from `folder` if that has its file (`plan.md`, `schema.md` or `answer.md`), else the package's.

    Raises ValueError if there is no such folder, it has none of the files, or one cannot be read or used.
    """
    names = [f"{name}.md" for name in Prompts._fields]
    if folder is not None and not any((folder / name).exists() for name in names):
        raise ValueError(f"none of {', '.join(names)} is in the folder {folder}")
    found = Prompts(*(_read(name, folder) for name in names))
    for name, text, place in (("plan.md", found.plan, "tools"), ("schema.md", found.schema, "schema")):
        if place not in Template(text).get_identifiers():
            raise ValueError(f"{name} has no ${place}: a model would not be told of it")
    return found


def _read(name: str, folder: Path | None) -> str:
    own = folder / name if folder is not None else None
    path = own if own is not None and own.exists() else _OWN / name
    try:
        with path.open("rb") as file:
            told = file.read(_MOST_BYTES + 1)
        text = told.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {type(error).__name__}") from error
    if len(told) > _MOST_BYTES:
        raise ValueError(f"{path} is longer than {_MOST_BYTES} bytes")
    return text


OWN = prompts_in(None)
