"""The library without the rest of the project: the examples in its documentation, run with only msgspec installed."""

import json
import re
import subprocess
import sys
import venv
from pathlib import Path

import msgspec
import pytest

from streamviz.aggregate import FORMATS, Aggregator, AlreadyComplete, NothingAggregated, StreamEvent, StreamFailed
from tests.services import ROOT

LLM = b"""event: message_start
data: {"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":3}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t_1","name":"bash","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\\"at\\": \\".\\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

"""
TOLD = """
[thinking]
Let me look.
[tool_call bash]
{"at": "."}
[ended: tool_use]
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with msgspec, the library, and no other package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder)
    [packages] = folder.glob("lib/python*/site-packages")
    for name, lies in (("msgspec", Path(msgspec.__file__).parent), ("streamviz", ROOT / "streamviz")):
        (packages / name).symlink_to(lies)
    return folder / "bin" / "python"


def example(number: int) -> str:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs/library.md").read_text(), re.DOTALL)[number]


def run(python: Path, program: str, given: bytes = b"") -> str:
    done = subprocess.run([python, "-c", program], input=given, capture_output=True, cwd="/", check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


@pytest.mark.integration
def test_ten_lines_tell_what_a_model_is_doing(bare: Path) -> None:
    assert run(bare, example(0), LLM) == TOLD


@pytest.mark.integration
def test_the_second_example_of_the_documentation_holds(bare: Path) -> None:
    assert run(bare, example(1)) == ""
    assert run(bare, "import importlib.util as imports; print(imports.find_spec('django'))") == "None\n"


@pytest.mark.parametrize("name", ["embeddings", "passed_through", "nonsense"])
def test_a_format_without_streams_is_none(name: str) -> None:
    with pytest.raises(KeyError, match="there are anthropic_messages, gemini"):
        Aggregator(name)


def test_it_reads_all_formats_in_any_pieces_and_again_once_cleared() -> None:
    assert set(FORMATS) == {"openai_chat", "anthropic_messages", "openai_responses", "gemini"}
    heard: list[StreamEvent] = []
    stream = Aggregator("anthropic_messages", heard.append)
    whole = [*stream.aggregate(LLM), *stream.close()]
    assert heard == whole
    assert [str(block.kind) for block in stream.blocks] == ["thinking", "tool_call"]
    assert (stream.finish_reason, stream.is_over, (stream.usage or {})["output_tokens"]) == ("tool_use", True, 9)
    with pytest.raises(AlreadyComplete):
        stream.aggregate(b"data: {}\n\n")
    message = stream.build()
    stream.clear()
    assert (stream.blocks, stream.usage, stream.is_over) == ([], None, False)
    pieces = [event for at in range(0, len(LLM), 7) for event in stream.aggregate(LLM[at : at + 7])]
    assert [*pieces, *stream.close()] == whole
    assert stream.build() == message
    with pytest.raises(NothingAggregated):
        Aggregator("gemini").build()


def test_what_a_callback_raises_is_its_callers() -> None:
    def fail(event: StreamEvent) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Aggregator("anthropic_messages", fail).aggregate(LLM)


@pytest.mark.integration
def test_a_file_that_grows_is_told_as_it_grows(tmp_path: Path) -> None:
    file = tmp_path / "answer.sse"
    first, second = LLM[: LLM.index(b"event: message_delta")], LLM[LLM.index(b"event: message_delta") :]
    file.write_bytes(first)
    command = [sys.executable, "manage.py", "aggregate", "--follow", "anthropic_messages", str(file)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout
        lines = [tail.stdout.readline()]
        while '"block_sealed"' not in lines[-1] or '"ordinal": 1' not in lines[-1]:
            lines.append(tail.stdout.readline())
        with file.open("ab") as growing:
            growing.write(second)
        lines += tail.stdout.readlines()
    assert tail.returncode == 0
    assert [line for line in lines if '"stream_finished"' in line] == [
        '{"type": "stream_finished", "reason": "tool_use", "choice": 0}\n'
    ]


SAID = {"choices": [{"index": 0, "delta": {"content": "Good \u2713"}}]}
ENDED = {"choices": [{"index": 0, "delta": {"content": " day"}, "finish_reason": "stop"}]}
WHOLE = {"choices": [{"index": 0, "message": {"content": "Good \u2713 day"}, "finish_reason": "stop"}]}
LINES = [json.dumps(each, ensure_ascii=False).encode() for each in (SAID, ENDED)]


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    "data",
    [
        b"data: %s\r\n\r\n: a comment\r\n\r\ndata: %s\r\n\r\n" % (*LINES,),
        b"\xef\xbb\xbfdata:%s\n\ndata:%s\n\n" % (*LINES,),
        b"%s\n%s" % (*LINES,),
        b"\xef\xbb\xbf\r\n%s\r\n\r\n%s\r\n" % (*LINES,),
        b"[%s\n,\n%s]\n" % (*LINES,),
        json.dumps(WHOLE).encode(),
        json.dumps(WHOLE, indent=2).encode(),
    ],
)
def test_whatever_it_is_framed_in_is_read(data: bytes, size: int) -> None:
    stream = Aggregator("openai_chat")
    for start in range(0, len(data), size):
        stream.aggregate(data[start : start + size])
    stream.close()
    assert ([block.text for block in stream.blocks], stream.finish_reason) == (["Good \u2713 day"], "stop")


def test_json_that_is_cut_off_is_a_failure() -> None:
    stream = Aggregator("openai_chat")
    stream.aggregate(LINES[0] + b"\n" + LINES[1][:-3])
    [failure] = [event for event in stream.close() if isinstance(event, StreamFailed)]
    assert "not a JSON object" in failure.message
    assert [block.text for block in stream.blocks] == ["Good \u2713"]
