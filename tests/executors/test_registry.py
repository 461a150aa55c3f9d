"""The built-in executors, and a custom one: the example in the documentation."""

import re
from typing import Any

import pytest

from streamviz.core.errors import RequestError, UpstreamError
from streamviz.executors import registry
from streamviz.executors.executor import ExecutorError
from tests.executors.support import Scripted
from tests.services import ROOT


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> None:
    found = re.search(r"```python\n(.*?)```", (ROOT / "docs/executors.md").read_text(), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found[1], names)  # noqa: S102
    monkeypatch.setitem(registry.EXECUTORS, "twice", names["Twice"])


class Busy(Scripted):
    """A call whose provider refuses it this many times."""

    refusals = 1

    async def pass_through(self) -> Any:
        if self.refusals:
            self.refusals -= 1
            raise UpstreamError(503, "busy")
        return "an answer"


@pytest.mark.usefixtures("example")
async def test_the_example_of_the_documentation_answers() -> None:
    answer: Any = await registry.build("twice", {}).open(Busy([]))
    assert answer == "an answer"
    with pytest.raises(UpstreamError, match="busy"):
        await registry.build("twice", {"statuses": [429]}).open(Busy([]))
    assert ("twice", "twice") in registry.names()


@pytest.mark.parametrize(("name", "parameters"), [("other", {}), ("passthrough", {"steps": 1})])
def test_it_rejects_what_there_is_not(name: str, parameters: dict[str, object]) -> None:
    with pytest.raises(ExecutorError):
        registry.build(name, parameters)


async def test_a_route_whose_executor_cannot_be_made_answers_nothing() -> None:
    with pytest.raises(RequestError, match="cannot be used: it is gone"):
        await registry.Unusable("it is gone").open(Scripted([]))
