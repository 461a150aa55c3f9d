"""What a try-out shows."""

from django.template.loader import render_to_string


def test_one_block_that_is_left_out_is_not_told_in_the_plural() -> None:
    assert "and 1 more block<" in render_to_string("dashboard/_try_out_blocks.html", {"side": {"more": 1}})
