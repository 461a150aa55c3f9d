"""The names that pages offer as filters."""

from streamviz.records.queries import names
from tests.records.conftest import Query
from tests.records.history import NOW, store, story, tool_stream


def test_every_model_and_every_tool_is_named_once(query: Query) -> None:
    store(
        *(story(NOW, number=n, requested_model=name) for n, name in enumerate(["b", "a", "c", "a"])),
        *(
            story(NOW, tool_stream(name=name), number=n)
            for n, name in enumerate(["run_shell", "edit", "write", "edit"], 10)
        ),
    )
    assert {"a", "b", "c"} <= set(names.models())
    assert len(set(names.models())) == len(names.models())
    assert {"edit", "run_shell", "write"} <= set(names.tools())
    assert len(set(names.tools())) == len(names.tools())
