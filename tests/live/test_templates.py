"""How templates are loaded: their layout does not become text."""

from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import get_template

from streamviz.live.templates import one_line


@pytest.mark.parametrize(
    ("laid_out", "read"),
    [
        ("<ul>\n  <li>a</li>\n  <li>b</li>\n</ul>\n", "<ul><li>a</li><li>b</li></ul>"),
        ("<p>\n  Some words\n  go on.\n</p>", "<p>Some words go on.</p>"),
        ("{% if a %}\n  <b>a</b>\n{% else %}\n  b\n{% endif %}", "{% if a %}<b>a</b>{% else %}b{% endif %}"),
        ('<button>\n  {% icon "deny" %}\n  Deny\n</button>', '<button>{% icon "deny" %}Deny</button>'),
        ("The answer is\n{{ answer }}\nand no other.", "The answer is {{ answer }} and no other."),
        ("See\n<a>Live</a>\nfor more, or <b>\n  ask\n</b>.", "See <a>Live</a> for more, or <b>ask</b>."),
        ("<i>a</i>\n<b>b</b> <i>c</i>", "<i>a</i><b>b</b> <i>c</i>"),
        ('<a href="x"\n  title="a > b">', '<a href="x" title="a > b">'),
        (
            '<a\n  {% if a > b %}hidden{% endif %}\n  href="{% x "y" %}">',
            '<a {% if a > b %}hidden{% endif %} href="{% x "y" %}">',
        ),
        ("<pre>\n  a\n    b</pre>\n<p>", "<pre>\n  a\n    b</pre><p>"),
        ("{# why #}\n<p>", "{# why #}<p>"),
        ("a < b\nand c", "a < b and c"),
    ],
)
def test_line_breaks_are_read_as_the_layout_they_are(laid_out: str, read: str) -> None:
    assert one_line(laid_out) == read


def test_numbers_and_their_nouns_are_written_by_one_filter() -> None:
    for file in Path(settings.BASE_DIR, "templates").rglob("*.html"):
        assert "|pluralize }}" not in file.read_text(), f"{file}: `plural` also sets thousands apart"


def test_no_template_has_line_breaks_left_outside_of_pre() -> None:
    for file in Path(settings.BASE_DIR, "templates").rglob("*.html"):
        kept = [part.split("</pre>")[-1] for part in one_line(file.read_text()).split("<pre")]
        assert "\n" not in "".join(kept), file


def test_a_template_is_read_so_when_it_is_rendered() -> None:
    rendered = get_template("live/_count.html").render({"id": "x", "text": "<3"})
    assert rendered == '<span id="x">&lt;3</span>'


def test_no_line_is_longer_than_120_characters() -> None:
    folder = Path(settings.BASE_DIR) / "templates"
    lines = [(path.name, line) for path in folder.rglob("*.html") for line in path.read_text().splitlines()]
    assert len(lines) > 1_000
    assert [each for each in lines if len(each[1]) > 120] == []
