"""python: a custom policy is found by its path, or the operator is told why not."""

from pathlib import Path

import pytest

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject
from streamviz.core.policy import Policy
from streamviz.policies import build


class Mine(Policy):
    """A custom policy."""

    def __init__(self, parameters: JsonObject) -> None:
        self.parameters = parameters
        if "broken" in parameters:
            raise RuntimeError("it broke")
        if "exits" in parameters:
            raise SystemExit("it left")


HERE = __name__


def test_the_class_is_made_with_its_parameters() -> None:
    policy = build("python", {"path": f"{HERE}.Mine", "parameters": {"a": 1}})
    assert type(policy).__name__ == "Mine"
    assert vars(policy)["parameters"] == {"a": 1}


@pytest.mark.parametrize(
    ("path", "more", "field", "words"),
    [
        (f"{HERE}.Nobody", {}, "path", "not a subclass"),
        (f"{HERE}.HERE", {}, "path", "not a subclass"),
        ("json.JSONDecoder", {}, "path", "not a subclass"),
        ("no_such_module.X", {}, "path", "cannot be imported"),
        ("Mine", {}, "path", "does not match"),
        ("os; import sys.x", {}, "path", "does not match"),
        (f"{HERE}.Mine", {"broken": 1}, "parameters", "it broke"),
        (f"{HERE}.Mine", {"exits": 1}, "parameters", "SystemExit: it left"),
    ],
)
def test_what_is_wrong_is_told_at_its_field(path: str, more: JsonObject, field: str, words: str) -> None:
    with pytest.raises(PolicyParametersError, match=words) as raised:
        build("python", {"path": path, "parameters": more})
    assert raised.value.field == field


def test_a_module_that_exits_when_it_is_imported_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module_that_exits.py").write_text("raise SystemExit(1)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PolicyParametersError, match="cannot be imported"):
        build("python", {"path": "module_that_exits.Mine"})
