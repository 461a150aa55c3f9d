"""What a script would run: every command, also in substitutions, in code given to a shell, and after wrappers."""

import re
from collections.abc import Sequence
from itertools import islice

from tree_sitter import Node

from streamviz.policies.shell import grammar
from streamviz.policies.shell.code import COMMAND_VARIABLES, code_in, may_run_input, plain, positional
from streamviz.policies.shell.commands import INPUT_FILE, OUTPUT_FILE, UNKNOWN, Command, Flow, Word
from streamviz.policies.shell.expansion import Expansion
from streamviz.policies.shell.grammar import text_of
from streamviz.policies.shell.outputs import input_of
from streamviz.policies.shell.paths import joined
from streamviz.policies.shell.variables import together
from streamviz.policies.shell.words import backticked, in_here_document, readings
from streamviz.policies.shell.wrappers import SETTERS, folder_in, settings_of, wrapped

MOST_COMMANDS = 1_000
MOST_ROUNDS = 8
# Levels of code within code.
DEEPEST_CODE = 10
MOST_PARSES = 300
# Stands in a script for text that is unknown: a variable that is never set.
_NOT_KNOWN = "${_}"
_EVALUATE = frozenset("let test [ printf read unset declare typeset local export readonly".split())
_INDEX = re.compile(r"\w\[[^\]]{0,200}?(\$\(|`)")
# Prompts: a shell runs only the command substitutions in them.
_PROMPTS = re.compile(r"PS[0-4]\Z")


class Reader(Expansion):
    """Reads scripts one after another, as one shell would.

    `commands` are all that would run, in order. `is_whole` says whether everything could be parsed; what could is in
    `commands` all the same. `has_bomb`: a function calls itself twice or in the background. `length` is the number of
    characters that will be read in all, which bounds what may be made of them.
    """

    def __init__(self, folder: str = "", length: int = 0) -> None:
        super().__init__(folder, length)
        self.commands: list[Command] = []
        self.is_whole = True
        self.has_bomb = False
        self._functions: dict[str, tuple[Node, list[Command]]] = {}  # bodies, and what they run
        self._parses = 0
        self._depth = 0

    def read(self, text: str, flow: Flow = Flow()) -> list[Command]:  # noqa: B008
        """The commands in `text`. Raises ValueError if there are too many, or they are nested too deeply."""
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
        """A command given as words, and what it runs itself. Raises ValueError as `read` does."""
        if not words:
            return []
        if len(self.commands) >= MOST_COMMANDS:
            raise ValueError("too many commands")
        self._spend(sum(len(word.text) + len(word.sources) + 1 for word in words))
        command = self._said(Command(tuple(words), flow, self._folder))
        self.commands.append(command)
        self._remember(command)
        ran = [command, *self._evaluated(command)]
        ran += self._set_apart(command, flow) if command.name in SETTERS else self._inner(command, flow)
        ran += self._aliased(command)
        ran += self._called(command)
        if len(words) == 1 and " " in words[0].text.strip():
            ran += self.read(words[0].text)  # as programs that run others give it to a shell
        self._number(positional(command), 0)
        given = input_of(command) or ""
        for code in code_in(command, self._files):
            # Code from the input does not read that once more.
            ran += self.read(code.replace(UNKNOWN, _NOT_KNOWN), Flow() if code in given else flow)
        return ran + self._given_output(command)

    def _called(self, command: Command) -> list[Command]:
        """What a function of the script runs, with the input that it is given. Within it, it is not called again."""
        name = command.words[0].text
        if name not in self._functions:
            return []
        body, ran = self._functions.pop(name)
        runs_input = command.flow.feeds and any(map(may_run_input, ran))
        again = self._statements(body, command.flow, 0) if runs_input else ran
        self._functions[name] = body, ran
        return again

    def _given_output(self, command: Command) -> list[Command]:
        """The commands in `>(…)`, which read what this one writes."""
        files = [word for word in (*command.words, *command.flow.writes) if OUTPUT_FILE in word.text]
        return [
            each for file in files for own in file.sources for each in self.run(own.words, own.flow.fed_by(command))
        ]

    def _inner(self, command: Command, flow: Flow) -> list[Command]:
        return [each for inner in islice(wrapped(command), MOST_ROUNDS) for each in self.run(inner, flow)]

    def _set_apart(self, command: Command, flow: Flow) -> list[Command]:
        """The commands that `env` and the like run, with the folder and the variables set for them alone."""
        variables, folder = dict(self._variables), self._folder
        settings = settings_of(command)
        if to := folder_in(command.name, settings):
            self._folder = joined(folder, to)
        for word in settings:
            name, sign, value = word.text.partition("=")
            if sign and not name.startswith("-"):
                self._set(name, Word(value, word.sources))
        ran = self._inner(command, flow)
        self._folder, self._variables = folder, variables
        return ran

    def _evaluated(self, command: Command) -> list[Command]:
        """The commands in an array's index. A shell also runs them in a text that it reads as a variable's name or as
        arithmetic."""
        if command.name not in _EVALUATE:
            return []
        return [each for word in command.words[1:] for each in self._indexed(word.text)]

    def _indexed(self, text: str) -> list[Command]:
        found = _INDEX.search(text)
        return self._prompted(text[found.start(1) :]) if found else []

    def _prompted(self, text: str) -> list[Command]:
        """The commands that a shell runs in a text if it is a prompt: those that are substituted."""
        return self.read(in_here_document(text)) if "$(" in text or "`" in text else []

    def _aliased(self, command: Command) -> list[Command]:
        """An alias runs in place of the first word; within it, the name means the program."""
        name = command.words[0].text
        name = name if name in self._aliases else plain(name)
        text = self._aliases.pop(name, "")
        if not text:
            return []
        ran = self.run([*map(Word, text.split()), *command.words[1:]], command.flow)
        self._aliases[name] = text
        return ran

    # Statements

    def _statements(self, node: Node, flow: Flow, depth: int, more: Sequence[Word] = ()) -> list[Command]:
        """`more` are words of the last command that come after it in the tree."""
        if depth > grammar.DEEPEST:
            raise ValueError("a command that is nested too deeply")
        match node.type:
            case "command":
                return self._command(node, flow, depth, more)
            case "pipeline":
                return self._pipeline(node, flow, depth, more)
            case "redirected_statement":
                return self._redirected(node, flow, depth)
            case "variable_assignment":
                return self._assign(node, depth)
            case "for_statement":
                return self._loop(node, flow, depth)
            case "function_definition":
                return self._function(node, flow, depth)
            case "subshell":
                return self._in_subshell(node, flow, depth)
            case "raw_string":
                return self._indexed(text_of(node))
        return self._each(node.named_children, flow, depth, more)

    def _each(self, nodes: Sequence[Node], flow: Flow, depth: int, more: Sequence[Word] = ()) -> list[Command]:
        ran: list[Command] = []
        for at, node in enumerate(nodes, 1):
            ran += self._statements(node, flow, depth + 1, more if at == len(nodes) else ())
        return ran

    def _command(self, node: Node, flow: Flow, depth: int, more: Sequence[Word] = ()) -> list[Command]:
        """`more` are words that follow its redirections."""
        words: list[Word] = []
        own = [child for child in node.named_children if child.type == "variable_assignment"]
        for child in node.named_children:
            if child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                flow = self._redirect(child, flow, depth)
                words += self._behind(child, depth)
            elif child not in own:
                words += self._expand(child, depth + 1)
        if not own:
            return self.run([*words, *more], flow)
        # Neither the command's own words nor what follows it see these variables.
        before = dict(self._variables)
        for child in own:
            self._assign(child, depth)
        ran = self.run([*words, *more], flow)
        if words:
            for name in (text_of(child.child_by_field_name("name") or child) for child in own):
                self._variables.pop(name, None)
                self._variables.update({name: before[name]} if name in before else {})
        return ran

    def _in_subshell(self, node: Node, flow: Flow, depth: int) -> list[Command]:
        """What follows does not see the folder or the variables that it sets, only its files."""
        folder, variables = self._folder, dict(self._variables)
        ran = self._each(node.named_children, flow, depth)
        self._folder = folder
        self._variables.clear()
        self._variables.update(variables)
        return ran

    def _pipeline(self, node: Node, flow: Flow, depth: int, more: Sequence[Word]) -> list[Command]:
        ran: list[Command] = []
        for at, child in enumerate(node.named_children, 1):
            own = Flow((*flow.feeds, *ran), flow.given, flow.reads, flow.writes)
            ran += self._statements(child, own, depth + 1, more if at == len(node.named_children) else ())
        return ran

    def _redirected(self, node: Node, flow: Flow, depth: int) -> list[Command]:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if child != body]
        own = flow
        for redirect in redirects:
            own = self._redirect(redirect, own, depth)
        more = [word for redirect in redirects for word in self._behind(redirect, depth)]
        ran = self._statements(body, own, depth + 1, more) if body else self.run(more or [Word("cat")], own)
        for redirect in redirects:
            if redirect.type == "heredoc_redirect":
                # Whatever follows a here-document's delimiter on the same line is inside its tree.
                rest = [child for child in redirect.named_children if child.type not in _OF_HERE_DOCUMENT | _WORDS]
                ran += self._each(rest, Flow(tuple(ran)), depth)
        return ran

    def _redirect(self, node: Node, flow: Flow, depth: int) -> Flow:
        if node.type == "heredoc_redirect":
            for child in node.named_children:
                if child.type == "file_redirect":
                    flow = self._redirect(child, flow, depth)
                elif child.type == "heredoc_body":
                    said = self._here_document(node, child, depth)
                    reads = (*flow.reads, Word("", said.sources)) if said.sources else flow.reads
                    flow = Flow(flow.feeds, (*flow.given, said.text), reads, flow.writes)
            return flow
        words = [word for child in _targets(node)[:1] for word in self._expand(child, depth + 1)]
        if node.type == "herestring_redirect":
            given = tuple(word.text for word in words)
            return Flow(flow.feeds, (*flow.given, *given), (*flow.reads, *words), flow.writes)
        if any(child.type == "<" for child in node.children):
            return Flow(flow.feeds, flow.given, (*flow.reads, *words), flow.writes)
        return Flow(flow.feeds, flow.given, flow.reads, (*flow.writes, *words))

    def _behind(self, redirect: Node, depth: int) -> list[Word]:
        """The command's words that are inside a redirection's tree: those after its target."""
        if redirect.type == "heredoc_redirect":
            rest = [child for child in redirect.named_children if child.type in _WORDS]
        else:
            rest = _targets(redirect)[1:]
        return [word for child in rest for word in self._expand(child, depth + 1)]

    def _here_document(self, redirect: Node, body: Node, depth: int) -> Word:
        mark = next((text_of(child) for child in redirect.named_children if child.type == "heredoc_start"), "")
        if any(quote in mark for quote in "'\"\\"):
            return Word(text_of(body))
        for code in backticked(text_of(body)):  # which are not in its tree
            self.read(code)
        return self._joined(body, depth, quoted=True)

    def _assign(self, node: Node, depth: int) -> list[Command]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        before = len(self.commands)
        if name is not None:
            self._each(name.named_children, Flow(), depth)  # commands in an index
            word = self._value(value, depth + 1, quoted=True) if value is not None else Word("")
            if any(child.type == "+=" for child in node.children):
                old = self._variables.get(text_of(name), Word(""))
                word = Word(old.text + word.text, together([old, word]))
            self._set(text_of(name), word)
            self._indexed(word.text)
        return self.commands[before:]

    def _set(self, name: str, word: Word) -> None:
        """Set a variable, and read what shells and other programs then run."""
        self._variables[name] = self._spent(word)
        if COMMAND_VARIABLES.match(name):
            self.run([Word("eval"), word])
        elif _PROMPTS.match(name):
            self._prompted(word.text)
        elif name == "BASH_ENV" or (name == "ENV" and (word.text == INPUT_FILE or plain(word.text) in self._files)):
            # A file that a shell runs first. Many programs use ENV for a name of their own.
            self.run([Word("."), word])
        elif name.startswith("BASH_FUNC_"):
            self.read(word.text.partition("{")[2].rpartition("}")[0])

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
        own = text_of(name) if name else ""
        self._functions.pop(own, None)
        ran = self._statements(body, flow, depth + 1) if body else []
        if body is not None:
            self._functions[own] = body, list({id(command): command for command in ran}.values())
        calls = sum(command.words[0].text == own for command in ran)
        source = text_of(body) if body else ""
        self.has_bomb = self.has_bomb or calls > 1 or bool(calls and "&" in source.replace("&&", ""))
        return ran

    def _substituted(self, node: Node, depth: int) -> Word:
        before = len(self.commands)
        folder = self._folder
        ran = self._each(node.named_children, Flow(), depth)
        self._folder = folder
        for redirect in (child for child in node.named_children if child.type == "file_redirect"):
            ran += self.run([Word("cat")], self._redirect(redirect, Flow(), depth))
        if text_of(node).startswith("`"):
            for code in backticked(text_of(node)):
                ran += self.read(code) if "`" in code else []
        said = ran[-1].said if ran and all(step.name in _PLAIN for step in self.commands[before:]) else None
        return Word(UNKNOWN if said is None else said.rstrip("\n"), tuple(ran))


def _targets(redirect: Node) -> list[Node]:
    return [child for child in redirect.named_children if child.type != "file_descriptor"]


_OF_HERE_DOCUMENT = frozenset({"heredoc_start", "heredoc_body", "heredoc_end", "file_redirect"})
_WORDS = frozenset(
    "word string raw_string ansi_c_string translated_string concatenation number simple_expansion expansion"
    " command_substitution process_substitution arithmetic_expansion brace_expression".split()
)
# Commands whose output is known from what they are given.
_PLAIN = frozenset({"echo", "printf", "cat", "pwd", "mktemp", "which", "command", "type", "tee"})
