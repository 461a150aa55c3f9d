"""What someone might do to a stream who knows the wire formats' vocabulary, but not how clients read it.

Each mutation changes the payloads of a stream, or the single payload of a whole answer, in place.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.core.made_streams import Chance, Payload, cut

Pieces = list[Payload]

KINDS: list[object] = [
    *"""text tool_use server_tool_use mcp_tool_use function custom function_call custom_tool_call message reasoning
    thinking redacted_thinking bash_20250124 local_shell_call shell_call apply_patch_call computer_call mcp_call
    mcp_approval_request web_search_call code_interpreter_call image_generation_call brand_new brand_new_call
    output_text refusal summary_text reasoning_text text_delta input_json_delta thinking_delta citations_delta
    output_audio tool_result container_upload compaction text_completion image_url input_text""".split(),
    "", None, 5, {}, ["text"],
]  # fmt: skip
EVENTS = """response.output_item.added response.output_item.done response.content_part.added
    response.content_part.done response.output_text.delta response.output_text.done response.refusal.delta
    response.refusal.done response.function_call_arguments.delta response.function_call_arguments.done
    response.custom_tool_call_input.delta response.custom_tool_call_input.done response.reasoning_text.delta
    response.reasoning_text.done response.reasoning_summary_text.delta response.reasoning_summary_text.done
    response.reasoning_summary_part.added response.audio.delta response.audio.transcript.delta
    response.mcp_call_arguments.delta response.mcp_call_arguments.done response.code_interpreter_call_code.delta
    response.output_text.annotation.added response.shell_call_command.delta response.brand_new.delta
    response.completed response.in_progress response.incomplete response.failed response.created response.queued
    content_block_start content_block_delta content_block_stop message_start message_delta message_stop ping
    completion brand_new""".split()
_ODD: list[object] = [None, 0, 1, 2, 7, -1, "0", "1", 1.0, True, "", "other", [], {}, "call_ok", "assistant", "user"]


def mutate(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Apply a few random mutations."""
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3))):
        made = chance.choice(_MUTATIONS)
        made(pieces, chance, is_call)


def dicts_in(value: Any) -> Iterator[Payload]:
    """Each object within a value, including itself."""
    level = [value]
    while level:
        each = level.pop()
        if isinstance(each, dict):
            yield each
            level += each.values()
        elif isinstance(each, list):
            level += each


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _opened(pieces: Pieces, chance: Chance) -> tuple[Payload, list[Payload]]:
    """A piece that may be changed, and all objects in it."""
    at = chance.randrange(len(pieces))
    pieces[at] = _copy(pieces[at])
    return pieces[at], list(dicts_in(pieces[at]))


def _call(chance: Chance) -> Payload:
    arguments = json.dumps({"command": chance.mark})
    given: Any = chance.choice([arguments, {"command": chance.mark}, chance.mark])
    kind = chance.choice(KINDS)
    field = chance.choice([*chance.words.given, chance.choice(chance.words.carriers)])
    plain = {"type": kind, "id": "call_9", "call_id": "call_9", "name": chance.tool, field: given}
    inner = {"name": chance.tool, field: given}
    nested = {"type": kind, "id": "call_9", "index": chance.randint(0, 2), chance.choice(chance.words.wrappers): inner}
    return chance.choice([plain, nested, inner])


def _text(chance: Chance) -> Any:
    kind = chance.choice(KINDS)
    field = chance.choice([*chance.words.texts, chance.choice(chance.words.carriers)])
    return chance.choice([chance.mark, chance.mark, {"type": kind, field: chance.mark}, {field: chance.mark}])


def _hidden(chance: Chance, is_call: bool) -> Any:
    """The forbidden call or text, in some shape."""
    made = _call(chance) if is_call and chance.random() < 0.7 else _text(chance)
    return chance.choice([made, made, [made], json.dumps(made), [[made]], {"value": made}, {"text": made}])


def _second_carrier(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    _, found = _opened(pieces, chance)
    chance.choice(found)[chance.choice(chance.words.carriers)] = _hidden(chance, is_call)


def _in_envelope(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Put the mark into what an answer says about itself, alone or with other text."""
    _, found = _opened(pieces, chance)
    heads = [
        each for each in found if not {"id", "model", "choices", "candidates", "usage", "index"}.isdisjoint(each)
    ] or found
    mark = chance.mark
    made = [mark, mark, f"See {mark} for all else.", [mark], {"a": mark}, {mark: 1}, {"reason": mark}, {"type": mark}]
    chance.choice(heads)[chance.choice(chance.words.envelope)] = chance.choice(made)


def _renamed(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Rename a member in all pieces, or repeat it under another name."""
    names = sorted({name for piece in pieces for each in dicts_in(piece) for name in each} & set(chance.words.carriers))
    if not names:
        return
    name, other = chance.choice(names), chance.choice(chance.words.carriers)
    is_beside = chance.random() < 0.3
    for at, piece in enumerate(pieces):
        pieces[at] = _copy(piece)
        for each in list(dicts_in(pieces[at])):
            if name in each:
                each[other] = each[name]
                if not is_beside:
                    del each[name]


def _wrapped(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    _, found = _opened(pieces, chance)
    where = chance.choice(found)
    if not where:
        return
    name = chance.choice(list(where))
    value = where[name]
    where[name] = chance.choice(
        [[value], {"text": value}, {"type": "text", "text": value}, {name: value}, json.dumps(value), {"value": value}]
    )


def _false_head(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Change or remove a type, an index or an id, in one piece or in all."""
    names = sorted({name for piece in pieces for each in dicts_in(piece) for name in each} & set(chance.words.heads))
    if not names:
        return
    name = chance.choice(names)
    value = chance.choice(KINDS) if name == "type" else chance.choice(_ODD)
    is_gone, only = chance.random() < 0.25, chance.randrange(len(pieces)) if chance.random() < 0.6 else None
    for at, piece in enumerate(pieces):
        if only not in (None, at):
            continue
        pieces[at] = _copy(piece)
        for each in list(dicts_in(pieces[at])):
            if name in each and (each is not pieces[at] or name != "type"):
                if is_gone:
                    del each[name]
                else:
                    each[name] = value


def _false_event(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    piece, _ = _opened(pieces, chance)
    piece["type"] = chance.choice(EVENTS)


def _new_event(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Add an event of some type, with the forbidden call or text in some of its members."""
    made: Payload = {"type": chance.choice(EVENTS), "index": chance.randint(0, 3), "output_index": chance.randint(0, 3),
                     "content_index": 0, "summary_index": 0, "item_id": chance.choice(["msg_0", "fc_0", "x_9"]),
                     "sequence_number": 50}  # fmt: skip
    for name in chance.sample(["delta", "item", "part", "content_block", "text", "arguments", "message"], 2):
        made[name] = _hidden(chance, is_call)
    pieces.insert(chance.randint(0, len(pieces)), made)


def _new_chunk(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Add a copy of an existing piece with another member."""
    at = chance.randrange(len(pieces))
    made = _copy(pieces[at])
    chance.choice(list(dicts_in(made)))[chance.choice(chance.words.carriers)] = _hidden(chance, is_call)
    pieces.insert(chance.randint(at, len(pieces)), made)


def _nested_copy(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    _, found = _opened(pieces, chance)
    source = _copy(chance.choice(list(dicts_in(chance.choice(pieces)))))
    where = chance.choice(found)
    where[chance.choice([*chance.words.carriers, *(list(where) or ["text"])])] = chance.choice([source, [source]])


def _more_items(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Add an item to a list."""
    piece, _ = _opened(pieces, chance)
    lists = [value for each in dicts_in(piece) for value in each.values() if isinstance(value, list)]
    if lists:
        chosen = chance.choice(lists)
        more = [_hidden(chance, is_call), *(_copy(each) for each in chosen)]
        chosen.insert(chance.randint(0, len(chosen)), chance.choice(more))


def _differing(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Keep what is hidden in some of the pieces only, so that ends differ from their deltas, and the reverse."""
    keeps = {at for at in range(len(pieces)) if chance.random() < 0.4}
    for at, piece in enumerate(pieces):
        if at not in keeps:
            told = json.dumps(piece).replace(chance.mark, "all is well").replace(chance.tool, "list")
            pieces[at] = json.loads(told)


def _deltas_differ(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Make the deltas harmless, or drop them."""
    for at in range(len(pieces) - 1, -1, -1):
        if "delta" in pieces[at] and chance.random() < 0.8:
            pieces[at] = _copy(pieces[at])
            if isinstance(pieces[at]["delta"], str):
                pieces[at]["delta"] = "x"
            elif len(pieces) > 1:
                del pieces[at]


def _as_text(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Turn a number into text, a text into a list of its pieces, or something into null."""
    _, found = _opened(pieces, chance)
    where = chance.choice(found)
    for name in [name for name in where if chance.random() < 0.4]:
        value = where[name]
        if isinstance(value, int | float):
            where[name] = chance.choice([str(value), float(value), None])
        elif isinstance(value, str) and len(value) > 1:
            where[name] = chance.choice([cut(value, chance), [{"type": "text", "text": value}], [value], value])
        else:
            where[name] = None


def _repeated(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    at = chance.randrange(len(pieces))
    pieces.insert(chance.randint(at, len(pieces)), pieces[at])


def _swapped(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    at = chance.randrange(len(pieces))
    pieces[at : at + 2] = reversed(pieces[at : at + 2])


def _dropped(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    if len(pieces) > 1:
        pieces.pop(chance.randrange(len(pieces)))


def _late(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    pieces.append(pieces.pop(chance.randrange(len(pieces))))


def _other_place(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Change the indices from some piece on, or in every second one after it."""
    names = ("index", "output_index", "content_index", "summary_index")
    start, step, by = chance.randrange(len(pieces)), chance.choice((1, 2)), chance.choice((1, 1, 2, -1))
    for at in range(start, len(pieces), step):
        pieces[at] = _copy(pieces[at])
        for each in dicts_in(pieces[at]):
            for name in names:
                if isinstance(each.get(name), int):
                    each[name] += by


def _more_choices(pieces: Pieces, chance: Chance, is_call: bool) -> None:
    """Repeat a chunk's choices, with the same index or another."""
    for at in range(len(pieces)):
        name = "candidates" if "candidates" in pieces[at] else "choices"
        choices = pieces[at].get(name)
        if isinstance(choices, list) and choices and chance.random() < 0.5:
            pieces[at] = _copy(pieces[at])
            more = _copy(choices)
            if isinstance(more[0], dict):
                more[0]["index"] = chance.choice([0, 1, 1, 2, None])
            pieces[at][name] = [*choices, *more]


_MUTATIONS: list[Callable[[Pieces, Chance, bool], None]] = [
    _second_carrier, _second_carrier, _second_carrier, _in_envelope, _in_envelope,
    _renamed, _renamed, _wrapped, _false_head, _false_head,
    _false_event, _new_event, _new_chunk, _nested_copy, _more_items, _differing, _deltas_differ, _as_text, _repeated,
    _swapped, _dropped, _late, _other_place, _more_choices,
]  # fmt: skip
