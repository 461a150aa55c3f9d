import json
import shlex

import pytest

from streamviz.ops.welcome import curl_line, welcome


def test_the_curl_line_is_one_shell_command() -> None:
    words = shlex.split(curl_line("http://127.0.0.1:8000", "sv-it's"))
    assert words[:3] == ["curl", "-N", "http://127.0.0.1:8000/v1/chat/completions"]
    assert "Authorization: Bearer sv-it's" in words
    assert json.loads(words[-1])["model"].startswith("sim/")


def test_without_a_key_the_curl_line_takes_it_from_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    welcome("http://127.0.0.1:8000", None, None)
    said = capsys.readouterr().out
    assert "$STREAMVIZ_KEY" in said
    assert "http://127.0.0.1:8000/admin/" in said
    assert "sign-in" not in said
