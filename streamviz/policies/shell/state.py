"""What a shell keeps from one command to the next: its folder, variables, aliases, and files with known content."""

import re
from collections.abc import Sequence
from dataclasses import replace

from streamviz.policies.shell.code import plain, writes
from streamviz.policies.shell.commands import UNKNOWN, Command, Word, operands
from streamviz.policies.shell.files import Files
from streamviz.policies.shell.outputs import input_of, output_of
from streamviz.policies.shell.paths import joined
from streamviz.policies.shell.variables import found_set, together
from streamviz.policies.shell.words import COMMA, MARKS

# Variables, pipes and nested code multiply their input. In all, this much text may be made, plus this many times the
# input's length.
MOST_MADE = 10_000
MADE_OF_EACH = 4
# Only this many characters of IFS count.
MOST_PARTING = 20
_PRINT_FILES = frozenset({"cat", "head", "tail", "tac"})
# These give a file another name, and `hash -p` gives one to a program.
_COPY = frozenset({"cp", "mv", "ln", "link", "install", "hash"})


class State:
    """The state of one shell. `length` is the number of characters that will be read in all, which bounds what may be
    made of them."""

    def __init__(self, folder: str, length: int) -> None:
        self._folder = folder
        self._variables = found_set()
        self._files = Files()
        self._aliases: dict[str, str] = {}
        self._room = MOST_MADE + MADE_OF_EACH * length

    def _spend(self, characters: int) -> None:
        """Raises ValueError once more text has been made than the input's length allows."""
        self._room -= characters
        if self._room < 0:
            raise ValueError("commands that expand to too much text")

    def _spent(self, word: Word) -> Word:
        self._spend(len(word.text) + len(word.sources) + 1)
        return word

    def _apart(self, text: str, mark: str) -> str:
        """A text with `mark` wherever it is split: at blanks, and at the script's own separators (IFS)."""
        own = self._variables["IFS"].text.translate(MARKS).replace(UNKNOWN, "")[:MOST_PARTING]
        marked = COMMA if "," in own else ""
        return re.sub(rf"[ \t\n{re.escape(own)}{marked}]+", mark, text)

    def _said(self, command: Command) -> Command:
        """The command with its output."""
        said = output_of(command)
        if said is None and command.name in _PRINT_FILES:
            said = self._content([*operands(command.arguments), *(word.text for word in command.flow.reads)])
        self._spend(len(said or ""))
        return replace(command, said=said)

    def _content(self, paths: Sequence[str]) -> str | None:
        """The content of these files, as far as it is known."""
        known = [self._files[path] for path in map(plain, paths) if path in self._files]
        return "".join(known) if known else None

    def _number(self, words: list[Word], first: int) -> None:
        """Make these words $0, $1 and so on, starting at `first`."""
        if words:
            self._variables.update({str(n): word for n, word in enumerate(words, first)})
            rest = [word.text for word in words[1 - first :]]
            self._variables["@"] = self._variables["*"] = self._spent(Word(" ".join(rest)))

    def _remember(self, command: Command) -> None:
        """Keep what a command changes for those after it: the folder, variables, aliases, files with known content."""
        if command.name in ("cd", "pushd", "chdir", "set-location"):
            where = [each for each in command.arguments if each == "-" or not each.startswith("-")]
            self._folder = joined(self._folder, where[0]) if where else "~"
        if command.name == "set" and "--" in command.arguments:
            self._number(list(command.words[command.arguments.index("--") + 2 :]), 1)
        if command.name == "set" and command.arguments and not command.arguments[0].startswith(("-", "+")):
            self._number(list(command.words[1:]), 1)
        if command.name in ("read", "mapfile", "readarray"):
            said = input_of(command)
            if said is None:
                said = self._content([word.text for word in command.flow.reads])
            word = Word(UNKNOWN if said is None else self._apart(said.rstrip("\n"), " "), (command,))
            self._variables.update(dict.fromkeys(operands(command.arguments), word))
        if command.name == "alias":
            self._aliases.update(each.partition("=")[::2] for each in command.arguments if "=" in each)
        if command.name == "printf" and command.arguments[:1] == ("-v",):
            word = Word(UNKNOWN if command.said is None else command.said, together(command.words))
            self._variables.update(dict.fromkeys(command.arguments[1:2], word))
        self._keep_files(command)

    def _keep_files(self, command: Command) -> None:
        if (written := writes(command)) and command.said is not None:
            for path in map(plain, written):
                self._spend(len(command.said))
                self._files.append(path, command.said)
        if command.name in _COPY:
            self._copy(operands(command.arguments))

    def _copy(self, paths: Sequence[str]) -> None:
        """A file has the same content under its new name, and a program does the same."""
        if len(paths) > 1:
            source, target = paths[-2], plain(paths[-1])
            self._aliases[target] = source
            self._files.copy(plain(source), target)
