"""Text in members that a format does not have.

SDKs pass on whatever members an object has. Those that a format has are read by its aggregator. In any other, a
provider may well put a word or a number, but text or a call there would reach the client without any policy having
judged it. So everything that an answer is made of is searched: choices, messages, blocks, items, their parts and
pieces. Blocks and items of unknown type are read whole, as calls or as blocks that policies for texts do not read: they
must not have text where clients look for it. In formats with types, an object without one must not have text at all.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, repeat

from streamviz.core.calls import CARRIERS
from streamviz.core.json_value import JsonObject, as_object, as_text, levels

# A finish reason, followed by the provider's own.
REASON = re.compile(r"[\w.-]{1,40}(?: [\w.-]{1,40})?: [A-Z][A-Z_]{0,40}")
REASONS = frozenset({"finish_reason", "native_finish_reason"})
# Ids, times, versions, addresses of models, and opaque values. Beyond ASCII they are limited in length, as not every
# language puts spaces between words.
_WORD = re.compile(r"(?a:[\w.:/+=|-]*)|[\w.:/+=|-]{0,40}")
# A speaker's name may have several words.
_SPEAKER = re.compile(r"(?a:(?=.{0,40}$)[A-Za-z][\w.-]*( [A-Za-z][\w.-]*){0,3})")
# Types of calls, of their results, and of other items whose texts are known not to be the answer's.
_OTHERS = re.compile(r".*_(call|use|request|output|result|update)|mcp_list_tools|item_reference|program")
WORDS = ("text", "thinking", "refusal", "summary", "transcript")
# Members that identify, place or describe nearly every part of an answer.
_USUAL = frozenset(
    "type index id role status object finish_reason native_finish_reason sequence_number output_index content_index"
    " summary_index item_id obfuscation".split()
)
# Members that name something, or are opaque.
_NAMES = frozenset({"id", "name", "call_id", "server_name", "signature", "data"})
_SIGNED = frozenset({"signature", "data"})
_OPAQUE = frozenset({"encrypted_content"})
_NAMES_AND_OPAQUE = _NAMES | _OPAQUE
# Members of calls are never left out: they are judged, or end the stream.
_OF_CALLS = frozenset({"name", "call_id", *CARRIERS})
# A number below this has too few digits to contain anything that policies look for.
LARGE = 10**11
_NUMBERS = (int, float)
Part = tuple[object, frozenset[str]]


def member_names(names: str) -> frozenset[str]:
    """A set of member names, from a text with spaces between them."""
    return frozenset(names.split())


def is_small(value: object) -> bool:
    """Whether a value is nothing, or a number too short for policies to find anything in it."""
    return value is None or (isinstance(value, _NUMBERS) and -LARGE < value < LARGE)


def is_word(text: str) -> bool:
    """Whether a text is a single word or a number."""
    return _WORD.fullmatch(text) is not None


def names_a_speaker(value: object) -> bool:
    """Whether a value says who speaks, and nothing else."""
    return not has_text(value) or (isinstance(value, str) and _SPEAKER.fullmatch(value) is not None)


def has_own_texts(kind: str) -> bool:
    """Whether this is the type of a call, of a result, or of an item whose texts are not the answer's."""
    return _OTHERS.fullmatch(kind) is not None


def words_among(texts: Iterable[str]) -> set[str]:
    """The texts that are a single word or a number."""
    return set(filter(_WORD.fullmatch, texts))


def has_text(value: object) -> bool:
    """Whether a value contains anything that could be text or a call."""
    if isinstance(value, str):
        return not is_word(value)
    if not value or isinstance(value, int | float):
        return False  # there may be hundreds of thousands of these
    for level in levels(value):
        texts = {*level.texts, *chain.from_iterable(level.objects)}
        if any(map(dict.get, level.objects, repeat("name"))) or not all(map(_WORD.fullmatch, texts)):
            return True
    return False


def says_beside(part: object, known: frozenset[str]) -> bool:
    """Whether an object has text in a member that is not `known`, or in a known one that should be a name or opaque."""
    if not isinstance(part, dict):
        return has_text(part)
    others: JsonObject = {}
    for name, value in part.items():
        if name in known:
            if name in _NAMES_AND_OPAQUE and _is_no_name(name, value):
                return True
        elif not _is_usual(name, value):
            if is_respelt(name, known):
                return True
            others[name] = value
    return bool(others) and _say(others, part, known)


def is_respelt(name: str, known: frozenset[str]) -> bool:
    """Whether a member is not in the format but has the name of one that is, in another case. Some clients, such as
    those that use Go's own JSON decoder, read it as that one."""
    return name not in known and name not in _USUAL and name.casefold() in _folded(known)


def is_any_respelt(names: Iterable[str], known: frozenset[str]) -> bool:
    """The same for any of these members."""
    return not _folded(known).isdisjoint(map(str.casefold, set(names).difference(known, _USUAL)))


@lru_cache(maxsize=256)
def _folded(known: frozenset[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in known | _USUAL)


def _is_no_name(name: str, value: object) -> bool:
    """Whether a member that names something (`_NAMES`) is not a string, which some clients take for a name all the
    same, or an opaque one (`_OPAQUE`) is readable.

    The signature of a text need not be a single word.
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
    """Whether the `others`, which may be tens of thousands of a part's members, contain text. A text that is the same
    as that of a known member is judged there."""
    read = {each for name in known if isinstance(each := part.get(name), str)}
    return has_text({name: value for name, value in others.items() if not (isinstance(value, str) and value in read)})


def is_odd(members: JsonObject, name: str, *expected: type) -> bool:
    """Whether a member contains text but is not of a type that the format has for it, so that nothing reads it."""
    value = members.get(name)
    return value is not None and not isinstance(value, expected) and has_text(value)


def is_no_list(members: JsonObject, name: str) -> bool:
    """Whether a member that clients read as a list is something else that says anything: to those in JavaScript an
    object is a list if it has a member `0`."""
    value = members.get(name)
    return value is not None and not isinstance(value, list) and (has_text(value) or _has_texts_or_numbers(value))


def _has_texts_or_numbers(value: object) -> bool:
    return any(any(level.texts) or not all(map(is_small, level.numbers)) for level in levels(value))


def is_no_text(members: JsonObject, name: str) -> bool:
    """Whether there is something other than a text in a member that has one. JavaScript joins numbers and lists with
    texts."""
    return not isinstance(members.get(name), str | None)


def any_beside(parts: Iterator[Part]) -> bool:
    """Whether any of these objects, each paired with its known members, has text in another member."""
    return any(says_beside(part, known) for part, known in parts)


def has_words(part: object) -> bool:
    """Whether something of unknown type that is not a call has text where clients look for an answer's."""
    members = as_object(part)
    kind = as_text(members.get("type"))
    if kind.endswith(("_result", "compaction")) and members.get("name"):
        return True  # neither type names a tool: some clients may take it for a call
    has_own = has_own_texts(kind) and not kind.endswith(("_result", "_output"))  # vendors' results have none there
    return not has_own and any(has_text(members[name]) for name in WORDS if name in members)


def left_of(part: object, known: frozenset[str]) -> object:
    """An object without those members that are not `known` and contain text, unless they may be a call; any other value
    as it is."""
    if not isinstance(part, dict):
        return part
    return {
        name: value
        for name, value in part.items()
        if name in known
        or name in _OF_CALLS
        or not (is_respelt(name, known) or says_beside({name: value}, frozenset()))
    }


def left_of_known(part: object, kinds: dict[str, frozenset[str]]) -> object:
    """The same for an object whose known members depend on its type; one of unknown type stays as it is."""
    known = kinds.get(as_text(as_object(part).get("type")))
    return part if known is None else left_of(part, known)


def replaced(part: object, name: str, by: Callable[[object], object]) -> object:
    """An object with one of its members, or each element of it if that is a list, replaced by what `by` returns."""
    value = as_object(part).get(name)
    if not isinstance(part, dict) or not isinstance(value, list | dict):
        return part
    return {**part, name: [by(each) for each in value] if isinstance(value, list) else by(value)}


def known_says_beside(part: object, kinds: dict[str, frozenset[str]]) -> bool:
    """`says_beside` for an object whose known members depend on its type; `has_words` for one of unknown type."""
    kind = as_text(as_object(part).get("type"))
    known = kinds.get(kind) if kind else frozenset[str]()
    return has_words(part) if known is None else says_beside(part, known)


# The members of a token that comes with its probability.
TOKEN = member_names("token top_logprobs")


def any_token_beside(tokens: list[object]) -> bool:
    """Whether any token with its probability has text in another member; there may be tens of thousands."""
    if not tokens:
        return False
    objects = [token for token in tokens if isinstance(token, dict)]
    others = [value for token in objects for name, value in token.items() if name not in TOKEN]
    names = set().union(*objects)
    is_plain = len(objects) == len(tokens) and "name" not in names and not has_text([others, list(names)])
    return not is_plain and any(says_beside(token, TOKEN) for token in tokens)
