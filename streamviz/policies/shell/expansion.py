"""The words that the words of a script's source expand to."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from tree_sitter import Node

from streamviz.policies.shell import grammar
from streamviz.policies.shell.braces import split
from streamviz.policies.shell.commands import INPUT_FILE, OUTPUT_FILE, Command, Flow, Word
from streamviz.policies.shell.grammar import pieces, text_of
from streamviz.policies.shell.state import State
from streamviz.policies.shell.variables import expanded, together
from streamviz.policies.shell.words import GAP, ansi, bare, within_quotes

MOST_WORDS = 5_000
# All the words of an array, or all arguments of a script, each kept as one word.
_ALL = re.compile(r'"\$(?:@|\{@\}|\{\w+\[@\]\})"')


class Expansion(State, ABC):
    """Expands words. Commands in them are run as they are met."""

    def __init__(self, folder: str, length: int) -> None:
        super().__init__(folder, length)
        self._words = 0

    @abstractmethod
    def _each(self, nodes: Sequence[Node], flow: Flow, depth: int) -> list[Command]:
        """Run these statements."""

    @abstractmethod
    def _prompted(self, text: str) -> list[Command]:
        """Run the command substitutions in a text."""

    @abstractmethod
    def _substituted(self, node: Node, depth: int) -> Word:
        """What a substitution prints when it is run."""

    def _expand(self, node: Node, depth: int) -> list[Word]:
        """The words that one word of the source becomes."""
        value = self._value(node, depth, quoted=False)
        if _ALL.fullmatch(text_of(node)):
            return self._expand(node.named_children[0], depth + 1)
        is_quoted = node.type in ("string", "raw_string", "ansi_c_string", "translated_string")
        texts = [value.text] if is_quoted else [text for text in split(value.text) if text]
        self._words += len(texts)
        if self._words > MOST_WORDS:
            raise ValueError("too many words")
        return [self._spent(Word(text, value.sources)) for text in texts]

    def _value(self, node: Node, depth: int, *, quoted: bool) -> Word:
        if depth > grammar.DEEPEST:
            raise ValueError("a word that is nested too deeply")
        match node.type:
            case "raw_string":
                return Word(text_of(node)[1:-1])
            case "ansi_c_string":
                return Word(ansi(text_of(node)[2:-1]))
            case "string":
                return self._joined(node, depth, quoted=True, begin=1, end=1)
            case "simple_expansion" | "expansion" | "command_substitution":
                make = self._substituted if node.type == "command_substitution" else self._variable
                word = self._spent(make(node, depth))
                return word if quoted else Word(self._apart(word.text, GAP), word.sources)
            case "process_substitution":
                file = OUTPUT_FILE if text_of(node).startswith(">") else INPUT_FILE
                return Word(file, tuple(self._each(node.named_children, Flow(), depth)))
            case "arithmetic_expansion":
                return Word("1", tuple(self._each(node.named_children, Flow(), depth)))
            case "array":
                return self._listed(node, depth)
        if not node.named_children:
            return Word(bare(text_of(node)))
        is_translated = node.type == "translated_string"  # `$"…"`
        return self._joined(node, depth, quoted=quoted, begin=int(is_translated))

    def _joined(self, node: Node, depth: int, *, quoted: bool, begin: int = 0, end: int = 0) -> Word:
        words: list[Word] = []
        for piece in pieces(node, begin, end):
            if isinstance(piece, str):
                word = Word(within_quotes(piece) if quoted else bare(piece))
            elif piece.type in ("string_content", "heredoc_content"):
                word = Word(within_quotes(text_of(piece)))
            else:
                word = self._value(piece, depth + 1, quoted=quoted)
            words.append(word)
        return Word("".join(word.text for word in words), together(words))

    def _listed(self, node: Node, depth: int) -> Word:
        words = [word for child in node.named_children for word in self._expand(child, depth + 1)]
        return Word(" ".join(word.text for word in words), together(words))

    def _variable(self, node: Node, depth: int) -> Word:
        def inner() -> list[Word]:
            names = ("variable_name", "special_variable_name")
            rest = [child for child in node.named_children if child.type not in names]
            return [self._value(child, depth + 1, quoted=True) for child in rest]

        word = expanded(text_of(node), self._variables, inner)
        if text_of(node).endswith("@P}"):
            self._prompted(word.text)
        return word
