"""The stylesheets: each page links those of its classes, and no rule is unused; and the icons."""

import re
from pathlib import Path

import pytest

from tests.services import ROOT

TEMPLATES = ROOT / "templates"
FRAMES = ("base", "bare")
PAGES = sorted(path.stem for path in (TEMPLATES / "dashboard").glob("[a-z]*.html") if path.stem not in FRAMES)
EVERYWHERE = {"tokens", "base", "parts"}
PUT_TOGETHER = {"bar", "fill", "is", "kind", "mode", "state", "tick", "verdict"}  # classes that begin so end in a value


def classes(sheet: str) -> set[str]:
    """All classes that a stylesheet has rules for."""
    selectors = re.findall(r"([^{};]+){", re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL))
    return {name for selector in selectors for name in re.findall(r"\.([a-z][\w-]*)", selector)}


SHEETS = {path.stem: classes(path.read_text()) for path in (ROOT / "static" / "css").glob("*.css")}


def sources(name: str) -> str:
    """The source of a template with everything that it extends and includes."""
    source = (TEMPLATES / name).read_text()
    return source + "".join(map(sources, re.findall(r'{% (?:extends|include) "([^"]+)"', source)))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_links_the_sheets_of_its_classes(page: str) -> None:
    source = sources(f"dashboard/{page}.html")
    linked = {name for names in re.findall(r"{% stylesheets ([^%]+)%}", source) for name in re.findall(r"\w+", names)}
    used = {name for names in re.findall(r'class="([^"]*)"', source) for name in names.split()}
    of_class = {name: {sheet for sheet, named in SHEETS.items() if name in named} for name in used}
    assert linked >= EVERYWHERE
    assert {name: found for name, found in of_class.items() if found and not found & linked} == {}


def test_every_rule_is_for_what_is_there() -> None:
    files: list[Path] = [*TEMPLATES.rglob("*.html"), *(ROOT / "static").rglob("*.js"), *ROOT.glob("streamviz/**/*.py")]
    words = set(re.findall(r"[a-z][\w-]*", "\n".join(path.read_text() for path in files)))
    styled = {name for named in SHEETS.values() for name in named if name.split("-")[0] not in PUT_TOGETHER}
    assert styled - words == set()


def test_every_icon_is_in_the_sprite() -> None:
    templates = {path.name: path.read_text() for path in TEMPLATES.rglob("*.html")}
    drawn = set(re.findall(r'id="i-(\w+)"', templates["_sprite.html"]))
    assert set(re.findall(r'{% icon "(\w+)"', "".join(templates.values()))) - drawn == set()


@pytest.mark.parametrize("page", PAGES)
def test_a_table_whose_rows_may_become_cards_has_a_frame(page: str) -> None:
    """The frame is the container in which they do."""
    source = sources(f"dashboard/{page}.html")
    framed = re.findall(r'<div class="table-wrap"[^>]*>\s*<table class="table stack', source)
    assert len(framed) == source.count('<table class="table stack')
