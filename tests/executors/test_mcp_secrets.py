"""The secrets that an MCP server was given are masked in what it says."""

import pytest

from streamviz.executors.mcp_secrets import masked, secrets_in


@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n"], ids=["line", "windows", "escaped"])
def test_a_key_of_several_lines_is_masked_line_by_line_too(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    lines = ("-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkq", "hkiG9w0BAQEFAASC", "-----END PRIVATE KEY-----")
    monkeypatch.setenv("PRIVATE_KEY", end.join(lines))
    told = f"All: {end.join(lines)}. 1: {lines[1]}, 2: {lines[2]}, and {lines[1]}{lines[2]}."
    assert masked(told, secrets_in(["PRIVATE_KEY"])) == "All: ***. 1: ***, 2: ***, and ******."
