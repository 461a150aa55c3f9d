"""Reading untrusted JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core import json_value

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_it_reads_what_the_standard_library_writes(value: object) -> None:
    for ascii_only in (False, True):
        assert json_value.decode(json.dumps(value, ensure_ascii=ascii_only).encode()) == value
    assert json_value.decode(json_value.encode(value)) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_a_value_error(data: bytes) -> None:
    try:
        value = json_value.decode(data)
    except ValueError:
        return
    json_value.encode(value)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":"\\ud83d\\ude00"}', {"a": "😀"}),
        (b'{"a":"x\\ud800y"}', {"a": "x?y"}),
        (b'{"a":"\xff"}', {"a": "�"}),
        (b'{"a":NaN,"b":Infinity,"c":-Infinity}', {"a": None, "b": None, "c": None}),
        (b'{"a":1e999}', {"a": None}),
        (b'{"a":"\x01\t"}', {"a": "\x01\t"}),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        (b'{"a":1' + b"0" * 5000 + b"}", {"a": None}),
        (b'{"a":123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        ('{"a":"\ud800"}', {"a": "?"}),
    ],
)
def test_it_reads_what_only_lenient_clients_accept(data: bytes | str, value: object) -> None:
    assert json_value.decode(data) == value


@pytest.mark.parametrize("data", [b"", b"{", b"{]", b"nothing", b"{'a':1}", b'{"a":1}{"b":2}', b'{"a":NaN'])
def test_it_rejects_what_is_no_json(data: bytes) -> None:
    with pytest.raises(ValueError, match="line 1"):
        json_value.decode(data)


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize("depth", [json_value.MAX_DEPTH + 1, 900, 1000, 100_000])
def test_it_rejects_deep_nesting_whatever_the_interpreter_could_take(depth: int) -> None:
    for data in (nested(depth), b'{"a":NaN,"b":' + nested(depth) + b"}"):
        with pytest.raises(ValueError, match="nested"):
            json_value.decode(data)


def test_it_takes_nesting_up_to_its_limit_and_any_width() -> None:
    assert json_value.encode(json_value.decode(nested(json_value.MAX_DEPTH))) == nested(json_value.MAX_DEPTH)
    wide = b"[" + b",".join([b'["[\\\\",{},"\\"["]'] * 5000) + b"]"
    assert json_value.encode(json_value.decode(wide)) == wide


@pytest.mark.parametrize("beside", [b'{"a":[{}]}', b"[[]]", nested(20), b'"[{\\"["', b'"' + b"[" * 70_000 + b'"'])
@pytest.mark.parametrize("count", [1, 500, 9000])
def test_depth_is_told_whatever_stands_beside_it(beside: bytes, count: int) -> None:
    wide = b",".join([beside] * min(count, 2_000_000 // len(beside)))
    json_value.decode(b"[%b,%b]" % (wide, nested(json_value.MAX_DEPTH - 1)))
    with pytest.raises(ValueError, match="nested"):
        json_value.decode(b"[%b,%b,%b]" % (wide, nested(json_value.MAX_DEPTH), wide))


def values_in(value: object) -> int:
    children = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return 1 + sum(map(values_in, children))


@given(VALUES)
def test_values_are_counted_before_they_are_read(value: object) -> None:
    data = json_value.encode(value)
    count = values_in(value)
    assert json_value.has_more_values(data, count - 2)
    assert not json_value.has_more_values(data, 2 * count)  # an empty list has a bracket and maybe a comma


@pytest.mark.parametrize("text", [",[{" * 99, '",' * 99, "\\" * 99 + ',"' * 99, '\\"[' * 99])
def test_what_stands_in_texts_is_no_value(text: str) -> None:
    data = json.dumps({"a": text, text: [1, 2]}).encode()
    assert (json_value.has_more_values(data, 6), json_value.has_more_values(data, 3)) == (False, True)


def test_a_flood_of_texts_is_a_flood_of_values() -> None:
    assert json_value.has_more_values(b"[" + b'"",' * 5000 + b"1]", 1000)


@pytest.mark.parametrize(
    ("value", "index"),
    [(0, 0), (7, 7), ("3", 3), (-1, None), (True, None), (1.0, None), ("x", None), ("", None), ("²", None),
     (None, None), ([], None), (10**9, None), (10**40, None), ("9" * 10, None)],
)  # fmt: skip
def test_an_index_is_a_small_whole_number(value: object, index: int | None) -> None:
    assert json_value.as_index(value) == index


def test_text_stays_text_and_other_values_become_json_text() -> None:
    assert [json_value.as_json_text(value) for value in ("{}", {"a": [1]}, None, False, 0)] == [
        "{}", '{"a":[1]}', "", "false", "0",
    ]  # fmt: skip


def test_objects_are_those_of_a_list_or_a_lone_one() -> None:
    assert json_value.objects([{"a": 1}, None, "x", [{}], {}]) == [{"a": 1}, {}]
    assert json_value.objects({"a": 1}) == [{"a": 1}]
    assert json_value.objects("x") == []


def test_a_value_of_another_type_reads_as_empty() -> None:
    assert (json_value.as_object([1]), json_value.as_list({}), json_value.as_text(1)) == ({}, [], "")


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":2}',
        b'{"a" :1,"a" :2}',
        b'{"a"\n:1,"a"\t:2,"b":3}',
        b'{"a":1,"\\u0061":2}',
        b'[{"b":{"a":"x","a":null}}]',
        b'{"a":"x","a":"\\u0022:"}',
        b'{"a":"x","a":"\\"\\u003a"}',
        b'{"a":"x","a":"\\"\\u003A"}',
        b'{"a":1,"a":2,"x\\\\":3}',
        b'{"a":"\\":","a":"y"}',
    ],
)
def test_a_name_that_comes_twice_is_found(data: bytes) -> None:
    assert json_value.has_name_twice(data, json_value.decode(data))


@pytest.mark.parametrize(
    "data",
    [b"{}", b'{"a": 1, "b": {"a": 2}}', b'[{"a":1},{"a":1}]', b'{"a":"\\":\\":","b" : "\\u0022:"}', b'"\\u0061"'],
)
def test_a_name_that_comes_once_in_each_object_is_not(data: bytes) -> None:
    assert not json_value.has_name_twice(data, json_value.decode(data))


@given(
    st.text(alphabet='a":\\ \n{}[],u0023', max_size=8),
    st.text(alphabet='a":\\ \n{}[],u0023', max_size=8),
    st.booleans(),
)
def test_no_text_hides_a_name_that_comes_twice(name: str, text: str, is_twice: bool) -> None:
    members = [f"{json.dumps(name)}:{json.dumps(text)}", f'"b" : {json.dumps(name)}']
    members += [f"{json.dumps(name)}:0"] if is_twice else []
    data = ("{" + ",".join(members) + "}").encode()
    assert json_value.has_name_twice(data, json_value.decode(data)) is (is_twice or name == "b")
