"""What the model is told, in files: those of the package, or an operator's own in their place."""

from pathlib import Path
from string import Template
from typing import NamedTuple

_OWN = Path(__file__).parent / "prompts"
_MOST_BYTES = 100_000


class Prompts(NamedTuple):
    """`plan` is told with the `$tools` there are, `schema` with the `$schema` of a plan where the model keeps to none
    by itself, `answer` before the answer is written."""

    plan: str
    schema: str
    answer: str

    def planning(self, tools: str, schema: str) -> str:
        """What a planner is told; `schema` is empty where it need not be."""
        told = Template(self.plan).safe_substitute(tools=tools)
        return told + "\n" + Template(self.schema).safe_substitute(schema=schema) if schema else told


def prompts_in(folder: Path | None) -> Prompts:
    """The prompts: of each the file in `folder` where it has one, `plan.md`, `schema.md` or `answer.md`.

    Raises ValueError where the folder is none, has none of them, or one that cannot be read or used.
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
