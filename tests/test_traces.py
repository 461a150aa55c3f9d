"""Which headers name a span, according to W3C's Trace Context."""

import pytest

from streamviz.traces import Parent, parent_in

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    "header", ["00-{}-{}-01", "01-{}-{}-01", "01-{}-{}-01-what a later version adds", "cc-{}-{}-01-"]
)
def test_a_span_is_named(header: str) -> None:
    assert parent_in(header.format(TRACE, SPAN)) == Parent(TRACE, SPAN, is_sampled=True)


@pytest.mark.parametrize(
    "header",
    ["", "00-{}-{}", "00-{}-{}-01-more", "00-{}-{}-01x", "00-{}-{}-01 ", "01-{}-{}-01x", "01-{}-{}-012", "ff-{}-{}-01",
     "00-" + "0" * 32 + "-{1}-01", "00-{0}-" + "0" * 16 + "-01"],
)  # fmt: skip
def test_what_is_malformed_names_none(header: str) -> None:
    assert parent_in(header.format(TRACE, SPAN)) is None
