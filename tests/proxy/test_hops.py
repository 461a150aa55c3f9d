"""How many servers a call has passed through: upstream is told, and a call with too many is refused."""

from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.policy import Consult
from streamviz.core.verdicts import ALLOW
from streamviz.proxy import answers, calls
from streamviz.proxy.answers import helpers
from streamviz.proxy.hops import HOPS, onward, require_few
from streamviz.proxy.worker import Worker
from tests.executors.support import plan, said
from tests.proxy.running import Client, Model, over


def scope(*told: str) -> Any:
    return {"headers": [(HOPS.encode(), each.encode()) for each in told]}


@pytest.mark.parametrize(("told", "next_one"), [((), "1"), (("0",), "1"), (("3",), "4"), (("-3",), "1"), (("x",), "1")])
def test_upstream_is_told_of_one_more(told: tuple[str, ...], next_one: str) -> None:
    require_few(scope(*told))
    assert onward(scope(*told)) == {HOPS: next_one}


@pytest.mark.parametrize("told", ["5", "999999999"])
def test_a_call_that_has_come_through_too_many_is_refused(told: str) -> None:
    with pytest.raises(RequestError, match="leads back") as raised:
        require_few(scope(told))
    assert (raised.value.status, raised.value.code) == (400, "loop")


@pytest.mark.parametrize("executor", ["passthrough", "reasoning"])
async def test_a_call_and_those_of_its_run_tell_how_far_it_has_come(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    model, told = Model(plan("answer"), said("Hello")), []

    async def opened(*given: Any) -> Any:
        told.append(given[-1][HOPS])
        return await model.open(*given)

    monkeypatch.setattr(calls, "open_counted", opened)
    client = Client(worker, **{"x-streamviz-executor": executor, HOPS: "2"})
    await over(client, worker)
    assert told
    assert set(told) == {"3"}


async def test_a_judges_call_tells_how_far_it_has_come(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    question = Consult("sim/judge", "Is it bad?", "Hi", lambda said: ALLOW)

    async def opened(*given: Any) -> Any:
        raise LookupError(given[-1])

    monkeypatch.setattr(answers, "open_answer", opened)
    with pytest.raises(LookupError, match=HOPS):
        await helpers(worker, onward(scope())).consult(question)
