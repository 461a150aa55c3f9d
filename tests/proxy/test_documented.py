"""What docs/clients.md promises about calls is what the code does."""

import re

from streamviz.upstream.providers import PROVIDERS
from tests.services import ROOT

TEXT = (ROOT / "docs" / "clients.md").read_text()


def section(name: str) -> set[str]:
    """The names in the table of a section."""
    found = TEXT.partition(f"## {name}\n")[2].partition("\n## ")[0]
    rows = [row for row in found.splitlines() if row.startswith("|")]
    return set(re.findall(r"`([A-Za-z_]+)`", " ".join(rows)))


def test_each_code_of_an_error_is_told() -> None:
    paths = [path for path in (ROOT / "streamviz").rglob("*.py") if "simulator" not in path.parts]
    files = [path.read_text() for path in paths]
    codes = {code for file in files for code in re.findall(r"\b(?:code=|CODE = )\"([a-z_]+)\"", file)}
    assert {"denied_by_policy", "model_not_found"} <= codes
    assert codes <= section("Errors of streamviz's own")


def test_each_provider_and_its_variables_are_told() -> None:
    told = section("Providers")
    for name, provider in PROVIDERS.items():
        likewise = {f"{name.upper()}_API_KEY", f"{name.upper()}_API_BASE"}
        assert {name, *(set(provider.variables) - likewise)} <= told
