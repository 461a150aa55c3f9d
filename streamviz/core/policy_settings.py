"""What an operator sets for a policy: which calls and blocks it is for, and whether a person has the last word."""

from dataclasses import dataclass

from streamviz.core.blocks import OtherStreamBlock, StreamBlock, ToolCallStreamBlock
from streamviz.core.calls import (
    FREE_TEXT,
    called_by_name,
    calls_by_name,
    in_namespace,
    is_ordinary,
    may_stand_for_others,
)
from streamviz.core.events import BlockKind
from streamviz.core.model_names import fits_called, matches, matching, without_blanks
from streamviz.core.verdicts import Decision


@dataclass(frozen=True, slots=True)
class CallScope:
    """The calls that a policy is for: globs of models and of names of keys; none means all."""

    models: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def has_model(self, names: tuple[str, ...]) -> bool:
        """Whether it is for a model with these names."""
        return not self.models or bool(matching(names, self.models))

    def has_key(self, name: str) -> bool:
        """Whether it is for a key of this name."""
        return matches(name, self.keys)


ALL_CALLS = CallScope()


@dataclass(frozen=True, slots=True)
class BlockScope:
    """The blocks that a policy is for: kinds, and globs of tool names, which also match what a client may take for such
    a name; none means all."""

    kinds: frozenset[BlockKind] = frozenset()
    tools: tuple[str, ...] = ()

    def may_apply(self, block: StreamBlock) -> bool:
        """Whether the policy may be for a block that still grows: a name that has not come yet may be any, and a call
        that stands for others may have one of any name."""
        return (not self.kinds and not self.tools) or self._applies(block, is_whole=False)

    def applies(self, block: StreamBlock) -> bool:
        """Whether the policy is for a whole block."""
        return (not self.kinds and not self.tools) or self._applies(block, is_whole=True)

    def _applies(self, block: StreamBlock, is_whole: bool) -> bool:
        if self.kinds and block.kind not in self.kinds:
            return False
        if not self.tools or not isinstance(block, ToolCallStreamBlock | OtherStreamBlock):
            return True
        name = block.name or block.label
        if is_nameless(block) or (not is_whole and may_stand_for_others(name)):
            return True
        if calls_by_name(name) and not called_by_name(block.text):
            return True  # it cannot be read which tool it calls
        return any(fits_called(name, glob) for name in names_of(block) for glob in self.tools)


ALL_BLOCKS = BlockScope()


def names_of(block: StreamBlock) -> tuple[str, ...]:
    """The names by which policies know a tool that is called: its own, or the wire's word for the call; if it is in a
    namespace, the one that providers without namespaces are given for it; and that of the tool that it calls itself."""
    name = block.name or block.label
    inner = called_by_name(block.text) if calls_by_name(name) else ""
    outer = in_namespace(block.namespace, name) if block.namespace else ""
    return (name, *filter(None, (outer, inner)))


def is_nameless(block: StreamBlock) -> bool:
    """Whether a call names no tool, not even by its type. A client may run any then: OpenClaw looks for a name in the
    call's id."""
    is_of_any = is_ordinary(block.label) or block.label in FREE_TEXT
    return not without_blanks(block.name or ("" if is_of_any else block.label))


@dataclass(frozen=True, slots=True)
class ByHand:
    """A person has the last word on what the policy would not allow.

    If nobody answers within `seconds`, it is allowed or denied, as `otherwise` says.
    """

    seconds: float
    otherwise: Decision
