"""What a text says, whatever characters and encodings it is written in."""

import base64
import json
import random
from urllib.parse import quote

import pytest

from streamviz.core.verdicts import Decision
from streamviz.policies import build
from streamviz.policies.finder import Found, together
from streamviz.policies.folding import folded, folded_with_places, forms
from tests.core.support import told
from tests.policies.support import block, judge, said

ZERO_WIDTH, SOFT_HYPHEN = "\u200b", "\u00ad"
WRITTEN = {
    "full width": "ｒｍ －ｒｆ ／ｓｒｖ",
    "look-alikes": "гm -rf /ѕгv",
    "mathematical": "\U0001d42b\U0001d426 -rf /srv",
    "zero width": ZERO_WIDTH.join("rm -rf /srv"),
    "soft hyphens": SOFT_HYPHEN.join("rm -rf /srv"),
    "accents": "r\u0332m\u0332 -rf /srv",
    "dashes": "rm –rf ∕srv",
    "a tag": "r\U000e0061m -rf /srv",
    "fillers": "r\u115f\u1160m\u3164 -\uffa0rf\u2065 \U000e0080/srv",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_text_is_read_as_it_looks(text: str) -> None:
    assert folded(text) == "rm -rf /srv"
    shown, places = folded_with_places(text)
    assert shown == "rm -rf /srv"
    assert len(places) == len(shown) + 1
    assert places == sorted(places)
    assert folded(text[places[3] : places[6]]) == "-rf"


@pytest.mark.parametrize("text", ["DELETE", "ᎠᎬᏞᎬᎢᎬ", "ꓓꓰꓡꓰꓔꓰ", "ＤＥＬＥＴＥ"], ids=ascii)
def test_capitals_of_other_scripts_are_read_as_they_look(text: str) -> None:
    assert folded(text) == "DELETE"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ENCODED = {
    "base64": b64("rm -rf /srv"),
    "base64 without its end": b64("rm -rf /srv").rstrip("="),
    "base64 for addresses": base64.urlsafe_b64encode(b"rm -rf /srv?>>~~~").decode(),
    "twice": b64(b64("rm -rf /srv")),
    "percent": quote("rm -rf /srv", safe=""),
    "percent twice": quote(quote("rm -rf /srv", safe=""), safe=""),
    "JSON in JSON": '{"a": ["rm -rf \\u002fsrv"]}',
    "look-alikes in base64": b64("гm -rf /ѕгv"),
    "base64 with a bell": b64("rm -rf /srv\x07"),
    "base64 with a zero width": b64(f"rm -r{ZERO_WIDTH}f /srv"),
    "base64 with a stray byte": base64.b64encode(b"rm -rf /srv\xff").decode(),
    "base64 behind a folder": "tmp/" + b64("rm -rf /srv"),
    "base64 behind a letter": "a" + b64("rm -rf /srv"),
    "base64 wrapped": "\n".join(b64("rm -rf /srv")[at : at + 5] for at in range(0, 16, 5)),
    "base64 in a sentence": f"run {b64('rm -rf /srv')} now",
}


@pytest.mark.parametrize("text", ENCODED.values(), ids=ENCODED)
def test_what_is_encoded_is_read(text: str) -> None:
    assert any("rm -rf /srv" in form for form in forms(text))


@pytest.mark.parametrize(
    "text", [json.dumps([f"text number {n}" for n in range(1000)]), "x" * 2_000_000], ids=["many", "long"]
)
def test_what_would_be_too_much_is_a_failure(text: str) -> None:
    with pytest.raises(ValueError, match="too much encoded"):
        list(forms(text))


@pytest.mark.parametrize("text", [*WRITTEN.values(), *ENCODED.values()], ids=[*WRITTEN, *ENCODED])
@pytest.mark.parametrize("path", [None, "$.command"])
def test_a_rule_for_tools_finds_it_by_a_switch(text: str, path: str | None) -> None:
    argument = {"pattern": "rm -rf /srv", **({"path": path} if path else {})}
    called = block(json.dumps({"command": text}), name="run")
    policy = build("tool_rule", {"arguments": [argument], "normalise": True})
    assert judge(policy, called).decision is Decision.DENY


def test_without_the_switch_and_in_what_is_harmless_it_finds_nothing() -> None:
    rule = {"arguments": [{"pattern": "rm -rf /srv"}]}
    called = block(json.dumps({"command": ENCODED["base64"]}), name="run")
    assert judge(build("tool_rule", rule), called).decision is Decision.ALLOW
    harmless = block(json.dumps({"command": "ls", "commit": "9fceb02d0ae598e95dc970b74767f19372d61af8"}), name="run")
    assert judge(build("tool_rule", {**rule, "normalise": True}), harmless).decision is Decision.ALLOW


def test_bytes_in_base64_are_nothing_to_read() -> None:
    picture = base64.b64encode(random.Random(1).randbytes(300_000)).decode()
    digests = " ".join(base64.b64encode(random.Random(n).randbytes(64)).decode() for n in range(500))
    for text in (picture, digests):
        assert all("rm -rf" not in form for form in forms(text))


def test_a_tools_name_is_read_as_it_looks() -> None:
    policy = build("tool_rule", {"names": ["run_shell"], "normalise": True})
    assert judge(policy, block("{}", name="run_ѕhell")).decision is Decision.DENY


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("size", [1, 3, 100])
async def test_a_rule_for_running_text_finds_it_however_it_is_split(text: str, size: int) -> None:
    whole = f"Say {text}, and go on — so."
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    it = await said("text_rule", {"patterns": ["rm -rf /srv"], "normalise": True}, *pieces)
    assert told(it.client_state) == [("content", "Say [removed], and go on — so.")]


ELSEWHERE = [
    ("café", "café"),
    ("café", "cafe\u0301"),
    ("café", "ca\u200bfe"),
    ("секрет", "секрет"),
    ("секрет", "ceкpeт"),
    ("[а-я]+крет", "секрет"),
    ("비밀", "비밀"),
    ("パスワード", "パスワード"),
    ("（x）", "（x）"),
    ("ö{1,3}l", "ööl"),
]


@pytest.mark.parametrize(("pattern", "text"), ELSEWHERE)
@pytest.mark.parametrize("size", [1, 3, 100])
async def test_patterns_of_all_languages_find_what_they_say(pattern: str, text: str, size: int) -> None:
    whole = f"Un {text} - so."
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    it = await said("text_rule", {"patterns": [pattern], "normalise": True}, *pieces)
    assert told(it.client_state) == [("content", "Un [removed] - so.")]


def test_rules_for_tools_of_all_languages_find_what_they_say() -> None:
    called = block('{"name": "ca\u200bfé"}', name="löschen")
    for rule in ({"arguments": [{"pattern": "café"}]}, {"names": ["löschen"]}, {"names": ["lo*n"]}):
        assert judge(build("tool_rule", {**rule, "normalise": True}), called).decision is Decision.DENY
    only = build("tool_rule", {"arguments": [{"pattern": "café"}], "action": "allow_only", "normalise": True})
    assert judge(only, block('{"name": "cafe"}', name="f")).decision is Decision.DENY


@pytest.mark.parametrize("pattern", [ZERO_WIDTH, f"{ZERO_WIDTH}|\u200d", "evil|\ufe0f"], ids=ascii)
def test_a_pattern_for_what_is_not_to_be_seen_is_not_in_all_texts(pattern: str) -> None:
    rule = build("tool_rule", {"arguments": [{"pattern": pattern}], "normalise": True})
    assert judge(rule, block('{"file": "a.py"}', name="read")).decision is Decision.ALLOW


def test_what_several_readings_find_where_it_overlaps_is_one() -> None:
    first, second = [Found(1, 3, "a"), Found(8, 12, "a")], [Found(2, 5, "b"), Found(6, 7, "b")]
    assert together((first, 12), (second, 12)) == ([Found(1, 5, "a"), Found(6, 7, "b"), Found(8, 12, "a")], 12)
    assert together((first, 12), (second, 9)) == ([Found(1, 5, "a"), Found(6, 7, "b")], 8)
    assert together((first[:1], 3), (second[:1], 4)) == ([], 1)


async def test_what_does_not_match_goes_out_as_it_was_written() -> None:
    text = "Ѕо it goes, ﬁne — and на русском"
    it = await said("text_rule", {"patterns": ["nothing of it"], "normalise": True}, *text)
    assert told(it.client_state) == [("content", text)]
