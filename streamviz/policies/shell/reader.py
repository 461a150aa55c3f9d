"""What a script would run: every command, also those in substitutions, in code given to a shell, behind wrappers."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from tree_sitter import Node

from streamviz.policies.shell import grammar
from streamviz.policies.shell.code import COMMAND_VARIABLES, code_in, plain, positional, writes
from streamviz.policies.shell.commands import UNKNOWN, Command, Flow, Word, operands
from streamviz.policies.shell.grammar import pieces, text_of
from streamviz.policies.shell.outputs import input_of, output_of
from streamviz.policies.shell.paths import joined
from streamviz.policies.shell.variables import expanded, found_set, together
from streamviz.policies.shell.words import GAP, ansi, bare, readings, split, within_quotes
from streamviz.policies.shell.wrappers import wrapped

MOST_COMMANDS = 1_000
MOST_WORDS = 5_000
MOST_ROUNDS = 8
# Code within code within code.
DEEPEST_CODE = 10
MOST_PARSES = 300
# Variables, pipes and code within code multiply what is given: so much may come of it, and so many times its length.
MOST_MADE = 10_000
MADE_OF_EACH = 4
# All the words of an array, or of a script, each as it is.
_ALL = re.compile(r'"\$(?:@|\{@\}|\{\w+\[@\]\})"')
# What is not known, as it stands in a script: a variable that is never set.
_NOT_KNOWN = "${_}"
_BLANKS = re.compile(r"[ \t\n]+")


class Reader:
    """Reads scripts one after another, as one shell would.

    `commands` are all that would run, in order. `is_whole` says whether all could be read; what could, is there all the
    same. `has_bomb`: a function calls itself twice or in the background. `length` is that of all that will be read, in
    characters: what is made of it is bounded by it.
    """

    def __init__(self, folder: str = "", length: int = 0) -> None:
        self.commands: list[Command] = []
        self.is_whole = True
        self.has_bomb = False
        self._folder = folder
        self._variables = found_set()
        self._files: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._room = MOST_MADE + MADE_OF_EACH * length
        self._parses = 0
        self._depth = 0
        self._words = 0

    def read(self, text: str, flow: Flow = Flow()) -> list[Command]:  # noqa: B008
        """The commands in `text`. Raises ValueError where there are too many, or too deep within each other."""
        return [command for script in readings(text) for command in self._read(script, flow)]

    def _read(self, script: str, flow: Flow) -> list[Command]:
        self._spend(len(script))
        self._parses += 1
        if self._parses > MOST_PARSES or self._depth >= DEEPEST_CODE:
            raise ValueError("nested commands that take too long to parse")
        root = grammar.parse(script)
        self.is_whole = self.is_whole and not root.has_error
        self._depth += 1
        ran = self._statements(root, flow, 0)
        self._depth -= 1
        return ran

    def run(self, words: Sequence[Word], flow: Flow = Flow()) -> list[Command]:  # noqa: B008
        """A command that is given as words, and what it runs itself. Raises ValueError as `read` does."""
        if not words:
            return []
        if len(self.commands) >= MOST_COMMANDS:
            raise ValueError("too many commands")
        self._spend(sum(len(word.text) + len(word.sources) + 1 for word in words))
        command = self._said(Command(tuple(words), flow, self._folder))
        self.commands.append(command)
        self._remember(command)
        ran = [command]
        for inner in islice(wrapped(command), MOST_ROUNDS):
            ran += self.run(inner, flow)
        ran += self._aliased(command)
        if len(words) == 1 and " " in words[0].text.strip():
            ran += self.read(words[0].text)  # as those who run others give it to a shell
        self._number(positional(command), 0)
        for code in code_in(command, self._files):
            ran += self.read(code.replace(UNKNOWN, _NOT_KNOWN))
        return ran

    def _aliased(self, command: Command) -> list[Command]:
        """What stands for the first word runs in its place; within it the name is the program's."""
        name = command.words[0].text
        text = self._aliases.pop(name, "")
        if not text:
            return []
        ran = self.run([*map(Word, text.split()), *command.words[1:]], command.flow)
        self._aliases[name] = text
        return ran

    def _spend(self, characters: int) -> None:
        """Raises ValueError where more has been made of what was given than is read."""
        self._room -= characters
        if self._room < 0:
            raise ValueError("commands that expand to too much text")

    def _spent(self, word: Word) -> Word:
        self._spend(len(word.text) + len(word.sources) + 1)
        return word

    def _said(self, command: Command) -> Command:
        """The command with what it prints."""
        said = output_of(command)
        self._spend(len(said or ""))
        return replace(command, said=said)

    def _number(self, words: list[Word], first: int) -> None:
        """Have these be $0, $1 and so on, or from `first` on."""
        if words:
            self._variables.update({str(n): word for n, word in enumerate(words, first)})
            rest = [word.text for word in words[1 - first :]]
            self._variables["@"] = self._variables["*"] = self._spent(Word(" ".join(rest)))

    def _remember(self, command: Command) -> None:
        """What a command changes for those behind it: the folder, and files with known text."""
        if command.name in ("cd", "pushd", "chdir", "set-location"):
            where = [each for each in command.arguments if each == "-" or not each.startswith("-")]
            self._folder = joined(self._folder, where[0]) if where else "~"
        if command.name == "set" and "--" in command.arguments:
            self._number(list(command.words[command.arguments.index("--") + 2 :]), 1)
        if command.name == "set" and command.arguments and not command.arguments[0].startswith(("-", "+")):
            self._number(list(command.words[1:]), 1)
        if command.name in ("read", "mapfile", "readarray"):
            came = (*command.flow.feeds, *(source for word in command.flow.reads for source in word.sources))
            said = input_of(command)
            word = Word(UNKNOWN if said is None else said, came)
            self._variables.update(dict.fromkeys(operands(command.arguments), word))
        if command.name == "alias":
            self._aliases.update(each.partition("=")[::2] for each in command.arguments if "=" in each)
        if command.name == "printf" and command.arguments[:1] == ("-v",):
            word = Word(UNKNOWN if command.said is None else command.said, together(command.words))
            self._variables.update(dict.fromkeys(command.arguments[1:2], word))
        if (written := writes(command)) and command.said is not None:
            self._files.update(dict.fromkeys(map(plain, written), command.said))

    # Statements

    def _statements(self, node: Node, flow: Flow, depth: int) -> list[Command]:
        if depth > grammar.DEEPEST:
            raise ValueError("a command that is nested too deeply")
        match node.type:
            case "command":
                return self._command(node, flow, depth)
            case "pipeline":
                return self._pipeline(node, flow, depth)
            case "redirected_statement":
                return self._redirected(node, flow, depth)
            case "variable_assignment":
                return self._assign(node, depth)
            case "for_statement":
                return self._loop(node, flow, depth)
            case "function_definition":
                return self._function(node, flow, depth)
            case "raw_string" | "comment" | "heredoc_content":
                return []
        return self._each(node.named_children, flow, depth)

    def _each(self, nodes: Sequence[Node], flow: Flow, depth: int) -> list[Command]:
        return [command for node in nodes for command in self._statements(node, flow, depth + 1)]

    def _command(self, node: Node, flow: Flow, depth: int) -> list[Command]:
        words: list[Word] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assign(child, depth)
            elif child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                flow = self._redirect(child, flow, depth)
            else:
                words += self._expand(child, depth + 1)
        return self.run(words, flow)

    def _pipeline(self, node: Node, flow: Flow, depth: int) -> list[Command]:
        ran: list[Command] = []
        for child in node.named_children:
            ran += self._statements(child, Flow((*flow.feeds, *ran), flow.given, flow.reads, flow.writes), depth + 1)
        return ran

    def _redirected(self, node: Node, flow: Flow, depth: int) -> list[Command]:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if child != body]
        own = flow
        for redirect in redirects:
            own = self._redirect(redirect, own, depth)
        ran = self._statements(body, own, depth + 1) if body else self.run([Word("cat")], own)
        for redirect in redirects:
            if redirect.type == "heredoc_redirect":
                # What stands behind the mark of a here-document on its line is in the tree within it.
                rest = [child for child in redirect.named_children if child.type not in _OF_HERE_DOCUMENT]
                ran += self._each(rest, Flow(tuple(ran)), depth)
        return ran

    def _redirect(self, node: Node, flow: Flow, depth: int) -> Flow:
        if node.type == "heredoc_redirect":
            for child in node.named_children:
                if child.type == "file_redirect":
                    flow = self._redirect(child, flow, depth)
                elif child.type == "heredoc_body":
                    flow = Flow(
                        flow.feeds, (*flow.given, self._here_document(node, child, depth)), flow.reads, flow.writes
                    )
            return flow
        words = [
            word
            for child in node.named_children
            if child.type != "file_descriptor"
            for word in self._expand(child, depth + 1)
        ]
        if node.type == "herestring_redirect":
            given = tuple(word.text for word in words)
            return Flow(flow.feeds, (*flow.given, *given), (*flow.reads, *words), flow.writes)
        if any(child.type == "<" for child in node.children):
            return Flow(flow.feeds, flow.given, (*flow.reads, *words), flow.writes)
        return Flow(flow.feeds, flow.given, flow.reads, (*flow.writes, *words))

    def _here_document(self, redirect: Node, body: Node, depth: int) -> str:
        mark = next((text_of(child) for child in redirect.named_children if child.type == "heredoc_start"), "")
        if any(quote in mark for quote in "'\"\\"):
            return text_of(body)
        return self._joined(body, depth, quoted=True).text

    def _assign(self, node: Node, depth: int) -> list[Command]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        before = len(self.commands)
        if name is not None:
            word = self._value(value, depth + 1, quoted=True) if value is not None else Word("")
            if any(child.type == "+=" for child in node.children):
                old = self._variables.get(text_of(name), Word(""))
                word = Word(old.text + word.text, together([old, word]))
            self._variables[text_of(name)] = self._spent(word)
            if COMMAND_VARIABLES.match(text_of(name)):
                self.read(word.text.replace(UNKNOWN, _NOT_KNOWN))
        return self.commands[before:]

    def _loop(self, node: Node, flow: Flow, depth: int) -> list[Command]:
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        values = [word for child in node.children_by_field_name("value") for word in self._expand(child, depth + 1)]
        if len(values) > MOST_ROUNDS:
            values = [*values[: MOST_ROUNDS - 1], Word(UNKNOWN)]
        ran: list[Command] = []
        for value in values or [Word(UNKNOWN)]:
            if variable is not None:
                self._variables[text_of(variable)] = value
            ran += self._statements(body, flow, depth + 1) if body else []
        return ran

    def _function(self, node: Node, flow: Flow, depth: int) -> list[Command]:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        ran = self._statements(body, flow, depth + 1) if body else []
        own = text_of(name) if name else ""
        calls = sum(command.words[0].text == own for command in ran)
        source = text_of(body) if body else ""
        self.has_bomb = self.has_bomb or calls > 1 or bool(calls and "&" in source.replace("&&", ""))
        return ran

    # Words

    def _expand(self, node: Node, depth: int) -> list[Word]:
        """The words that one in the source becomes."""
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
                return word if quoted else Word(_BLANKS.sub(GAP, word.text), word.sources)
            case "process_substitution":
                return Word(f"/dev/fd/{UNKNOWN}", tuple(self._each(node.named_children, Flow(), depth)))
            case "arithmetic_expansion":
                return Word("1", tuple(self._each(node.named_children, Flow(), depth)))
            case "array":
                return self._listed(node, depth)
        if not node.named_children:
            return Word(bare(text_of(node)))
        return self._joined(node, depth, quoted=quoted)

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

        return expanded(text_of(node), self._variables, inner)

    def _substituted(self, node: Node, depth: int) -> Word:
        before = len(self.commands)
        folder = self._folder
        ran = self._each(node.named_children, Flow(), depth)
        self._folder = folder
        for redirect in (child for child in node.named_children if child.type == "file_redirect"):
            ran += self.run([Word("cat")], self._redirect(redirect, Flow(), depth))
        said = ran[-1].said if ran and all(step.name in _PLAIN for step in self.commands[before:]) else None
        return Word(UNKNOWN if said is None else said.rstrip("\n"), tuple(ran))


_OF_HERE_DOCUMENT = frozenset({"heredoc_start", "heredoc_body", "heredoc_end", "file_redirect", "word", "string"})
# Those whose output is what they are given.
_PLAIN = frozenset({"echo", "printf", "cat", "pwd", "mktemp", "which", "command", "type", "tee"})
