"""What the model is told, in files: those of the package, or an operator's own in their place."""

from functools import lru_cache
from pathlib import Path
from string import Template
from typing import NamedTuple

_OWN = Path(__file__).parent / "prompts"


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


@lru_cache(maxsize=4)
def prompts_in(folder: Path | None) -> Prompts:
    """The prompts: of each the file in `folder` where it has one, `plan.md`, `schema.md` or `answer.md`.

    They are read once. Raises OSError or UnicodeDecodeError for a file that cannot be read.
    """
    return Prompts(*(_read(f"{name}.md", folder) for name in Prompts._fields))


def _read(name: str, folder: Path | None) -> str:
    own = folder / name if folder is not None else None
    return (own if own is not None and own.exists() else _OWN / name).read_text("utf-8")
