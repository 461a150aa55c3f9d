"""What is said beside what a format has words for.

SDKs hand out whatever members an object has. Those that a format has, its aggregator reads; in any other a provider
may well put a word or a number, but text, or a call, would be something that no policy has judged. So it is looked for
in all that an answer is made of: choices, messages, blocks, items, their parts and pieces. Blocks and items of unknown
type are read whole, as calls or as what no policy for texts reads: they may have no text where clients look for one.
One without any type may say nothing, where its format has types.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat

from streamviz.core.calls import CARRIERS
from streamviz.core.json_value import JsonObject, as_object, as_text, levels

# A reason that an answer ended, with the provider's own behind it.
REASON = re.compile(r"[\w.-]{1,40}(?: [\w.-]{1,40})?: [A-Z][A-Z_]{0,40}")
REASONS = frozenset({"finish_reason", "native_finish_reason"})
# Ids, times, versions, addresses of models, and whatever is opaque. Not every language puts spaces between words.
_WORD = re.compile(r"(?a:[\w.:/+=|-]*)|[\w.:/+=|-]{0,40}")
# Who speaks may go by several words.
_SPEAKER = re.compile(r"(?a:(?=.{0,40}$)[A-Za-z][\w.-]*( [A-Za-z][\w.-]*){0,3})")
# Calls, their results, and what else is known to have texts of its own that are no answer's.
_OTHERS = re.compile(r".*_(call|use|request|output|result|update)|mcp_list_tools|item_reference|program")
WORDS = ("text", "thinking", "refusal", "summary", "transcript")
# What says which, where and how nearly every part of an answer is.
_USUAL = frozenset(
    "type index id role status object finish_reason native_finish_reason sequence_number output_index content_index"
    " summary_index item_id obfuscation".split()
)
# What names something, or cannot be read.
_NAMES = frozenset({"id", "name", "call_id", "server_name", "signature", "data"})
_SIGNED = frozenset({"signature", "data"})
_OPAQUE = frozenset({"encrypted_content"})
_NAMES_AND_OPAQUE = _NAMES | _OPAQUE
# What calls are made of is judged, or ends the stream.
_OF_CALLS = frozenset({"name", "call_id", *CARRIERS})
# In fewer digits there is nothing that anybody looks for.
LARGE = 10**11
_NUMBERS = (int, float)
Part = tuple[object, frozenset[str]]


def member_names(names: str) -> frozenset[str]:
    """Names of members, from one text with spaces between them."""
    return frozenset(names.split())


def is_small(value: object) -> bool:
    """Whether it is a number in whose digits there is nothing."""
    return isinstance(value, _NUMBERS) and -LARGE < value < LARGE


def is_word(text: str) -> bool:
    """Whether it is a single word, or a number."""
    return _WORD.fullmatch(text) is not None


def names_a_speaker(value: object) -> bool:
    """Whether it says who speaks, and nothing else."""
    return not has_text(value) or (isinstance(value, str) and _SPEAKER.fullmatch(value) is not None)


def has_own_texts(kind: str) -> bool:
    """Whether what is of this type is a call, a result, or has texts of its own that are no answer's."""
    return _OTHERS.fullmatch(kind) is not None


def words_among(texts: Iterable[str]) -> set[str]:
    """Those of these texts that are a single word, or a number."""
    return set(filter(_WORD.fullmatch, texts))


def has_text(value: object) -> bool:
    """Whether a value has anything that could be text, or a call."""
    if isinstance(value, str):
        return not is_word(value)
    if not value or isinstance(value, int | float):
        return False  # as where there may be hundreds of thousands
    for level in levels(value):
        texts = {*level.texts, *chain.from_iterable(level.objects)}
        if any(map(dict.get, level.objects, repeat("name"))) or not all(map(_WORD.fullmatch, texts)):
            return True
    return False


def says_beside(part: object, known: frozenset[str]) -> bool:
    """Whether an object says anything in a member that is not `known`."""
    if not isinstance(part, dict):
        return has_text(part)
    others: JsonObject = {}
    for name, value in part.items():
        if name in known:
            if name in _NAMES_AND_OPAQUE and _is_no_name(name, value):
                return True
        elif not _is_usual(name, value):
            others[name] = value
    return bool(others) and _say(others, part, known)


def _is_no_name(name: str, value: object) -> bool:
    """Whether what names something (`_NAMES`) is no text, which some clients take for a name all the same, or what is
    opaque (`_OPAQUE`) can be read.

    Of a signature that holds for a text nobody asks that it be one word.
    """
    if name in _OPAQUE:
        return has_text(value)
    return isinstance(value, dict | list) and (has_text(value) if name in _SIGNED else bool(value))


def _is_usual(name: str, value: object) -> bool:
    if name not in _USUAL:
        return False
    if isinstance(value, str):
        return is_word(value) or (name in REASONS and REASON.fullmatch(value) is not None)
    return value is None or isinstance(value, int | float)


def _say(others: JsonObject, part: JsonObject, known: frozenset[str]) -> bool:
    """Whether the `others` of a part's members say anything; there may be tens of thousands of them. What is said again
    word for word is judged where it is read."""
    read = {each for name in known if isinstance(each := part.get(name), str)}
    return has_text({name: value for name, value in others.items() if not (isinstance(value, str) and value in read)})


def is_odd(members: JsonObject, name: str, *expected: type) -> bool:
    """Whether a member of another type than its format's says anything: its reader takes no other."""
    value = members.get(name)
    return value is not None and not isinstance(value, expected) and has_text(value)


def any_beside(parts: Iterator[Part]) -> bool:
    """Whether any of these objects does, each with its known members."""
    return any(says_beside(part, known) for part, known in parts)


def has_words(part: object) -> bool:
    """Whether something of unknown type, and no call, says anything where clients find an answer's words."""
    members = as_object(part)
    kind = as_text(members.get("type"))
    if kind.endswith(("_result", "compaction")) and members.get("name"):
        return True  # neither names a tool: some clients may take it for a call
    has_own = has_own_texts(kind) and not kind.endswith(("_result", "_output"))  # no vendor's have theirs there
    return not has_own and any(has_text(members[name]) for name in WORDS if name in members)


def left_of(part: object, known: frozenset[str]) -> object:
    """An object without members that are not `known` and that say anything, unless that may be a call; whatever else it
    is, all of it."""
    if not isinstance(part, dict):
        return part
    return {
        name: value
        for name, value in part.items()
        if name in known or name in _OF_CALLS or not says_beside({name: value}, frozenset())
    }


def left_of_known(part: object, kinds: dict[str, frozenset[str]]) -> object:
    """So much of an object whose known members depend on its type; all of one of unknown type."""
    known = kinds.get(as_text(as_object(part).get("type")))
    return part if known is None else left_of(part, known)


def replaced(part: object, name: str, by: Callable[[object], object]) -> object:
    """An object with what `by` makes of one of its members, or of each where that is a list."""
    value = as_object(part).get(name)
    if not isinstance(part, dict) or not isinstance(value, list | dict):
        return part
    return {**part, name: [by(each) for each in value] if isinstance(value, list) else by(value)}


def known_says_beside(part: object, kinds: dict[str, frozenset[str]]) -> bool:
    """Whether an object does whose known members depend on its type; one of unknown type is read whole."""
    kind = as_text(as_object(part).get("type"))
    known = kinds.get(kind) if kind else frozenset[str]()
    return has_words(part) if known is None else says_beside(part, known)


# Of a token that comes with its probability.
TOKEN = member_names("token top_logprobs")


def any_token_beside(tokens: list[object]) -> bool:
    """Whether any of the tokens that come with their probabilities says anything. There may be tens of thousands."""
    objects = [token for token in tokens if isinstance(token, dict)]
    others = [value for token in objects for name, value in token.items() if name not in TOKEN]
    names = set().union(*objects)
    is_plain = len(objects) == len(tokens) and "name" not in names and not has_text([others, list(names)])
    return not is_plain and any(says_beside(token, TOKEN) for token in tokens)
