"""How kinds, verdicts and states look: a letter or icon, a word, and a class that gives the colour."""

from typing import NamedTuple

from streamviz.core.events import BlockKind
from streamviz.core.verdicts import Decision


class KindMark(NamedTuple):
    """A kind of block. In a strip it is `height` tall from `top` down: the more a block can do, the taller it is."""

    letter: str
    word: str
    css: str
    top: int
    height: int


KINDS = {
    BlockKind.THINKING: KindMark("~", "thinking", "thinking", 5, 5),
    BlockKind.CONTENT: KindMark("¶", "content", "content", 3, 9),
    BlockKind.TOOL_CALL: KindMark("ƒ", "tool call", "tool", 0, 14),
    BlockKind.REFUSAL: KindMark("!", "refusal", "refusal", 2, 11),
    BlockKind.MEDIA: KindMark("◫", "media", "other", 2, 10),
    BlockKind.OTHER: KindMark("…", "other", "other", 4, 7),
}


class DecisionMark(NamedTuple):
    """How a decision looks; `icon` names a symbol of the sprite. `word` follows "would" for a policy in shadow; `done`
    is followed by who decided."""

    word: str
    icon: str
    css: str
    done: str


DECISIONS = {
    Decision.ALLOW: DecisionMark("allow", "allow", "allow", "allowed"),
    Decision.REPLACE: DecisionMark("replace", "replace", "replace", "replaced"),
    Decision.DENY: DecisionMark("deny", "deny", "deny", "denied"),
    Decision.HALT: DecisionMark("halt", "halt", "halt", "halted"),
}


class StateMark(NamedTuple):
    """A stream's state; `group` is its place on the Live page. `css` is a shape, `tone` a text colour. `many` is the
    plural, if that is another word."""

    word: str
    css: str
    group: str
    tone: str = ""
    many: str = ""


ASKS = StateMark("needs you", "state-asks", "asks", "tone-wait")
HELD = StateMark("held", "state-held hatch", "held", "tone-wait")
STALLED = StateMark("stalled", "state-stalled", "stalled", "tone-wait")
RUNNING = StateMark("running", "state-running", "running")
OUTCOMES = {
    "completed": StateMark("completed", "state-completed", "finished"),
    "halted": StateMark("halted", "state-halted", "finished", "tone-deny"),
    "upstream_error": StateMark("upstream error", "state-failed", "finished", "tone-deny", "upstream errors"),
    "client_disconnected": StateMark("client left", "state-cut", "finished", "tone-wait"),
    "interrupted": StateMark("interrupted", "state-cut", "finished", "tone-wait"),
}
