"""shell_rule: denies tool calls whose shell commands would destroy something or give it away."""

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.errors import PolicyParametersError
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_text
from streamviz.core.policy import Policy
from streamviz.core.policy_settings import is_nameless, names_of
from streamviz.core.verdicts import ALLOW, Decision, Verdict
from streamviz.policies.argument_json import read
from streamviz.policies.parameters import check, shortened, texts
from streamviz.policies.shell.calls import SHELL_TOOLS, Line, is_shell, lines_in
from streamviz.policies.shell.commands import Word
from streamviz.policies.shell.dangers import RULES, Choice, found_in, found_in_text, is_risky
from streamviz.policies.shell.paths import is_vital
from streamviz.policies.shell.reader import Reader
from streamviz.policies.shell.words import cleaned

_LONGEST_NAME = 80
_MOST_LINES = 100
# A text this short cannot hold more commands than can be judged in a few ms.
_SHORT = 500
_FEW_PIPES = 20
DENIED = ("deletes", "disks", "system", "remote_code", "credentials", "data")
# What agents create and throw away every day.
MAY_DELETE = (
    "node_modules", "dist", "build", "out", "target", "bin", "obj", "coverage", "htmlcov", "vendor", "tmp", "temp",
    "venv", ".venv", "env", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox",
    ".cache", ".next", ".nuxt", ".output", ".svelte-kit", ".astro", ".turbo", ".parcel-cache", ".vite", ".angular",
    ".gradle", ".dart_tool", ".terraform", ".eggs", "*.egg-info", "DerivedData", "Pods", "_build", "site",
    "public/build", "test-results", "playwright-report", "storybook-static", "logs", "*.tmp", "*.bak",
    "*.json", "*.lock", "*.log", "*.txt", "*.xml", "*.o", "*.pyc", "*.zip", "*.gz", "*.tgz", "*.tar", "*.png", "*.csv",
    ".coverage", ".eslintcache", ".DS_Store", ".nyc_output", ".expo", ".serverless", ".aws-sam", ".wrangler", ".vercel",
    ".nx", ".swc", ".docusaurus", ".ipynb_checkpoints", ".build", ".zig-cache", "zig-out", "dist-newstyle", "_site",
    "cmake-build-*", "allure-results", "output", "_cacache",
    "/tmp/?*", "/var/tmp/?*",  # noqa: S108
    "/private/tmp/?*", "/var/folders/?*", "/var/lib/apt/lists", "/var/cache/apt*", "/var/cache/apk*",
)  # fmt: skip


class ShellRule(Policy):
    """Reads the shell commands in tool calls as a shell would, and denies those that would do harm.

    `tools` are globs of the names of tools that run commands; in other tools, members called `command` or `cmd` are
    read too. A command may be a string, a list of words or of commands, or a program with its arguments in another
    member. Commands are parsed: quotes, variables, pipes, substitutions, here-documents, what follows `sudo`, `xargs`
    or `find -exec`, what is given to `bash -c` or `eval`.

    `deny` lists what is denied: `deletes` (recursive deletion, and deletion of what no machine or home can do without),
    `disks` (file systems, partitions, devices), `system` (its files, permissions and users, stopping it, killing every
    process, switching off protection), `remote_code` (what is downloaded or decoded and then run, packages from an
    address instead of a registry, shells opened to others), `credentials` (private keys and tokens read or sent),
    `data` (databases, clusters, buckets and whatever is deployed) and `force_push` (overwriting or deleting what others
    have pushed). `may_delete` are globs of what may be deleted recursively: they match any part of a path
    (`node_modules`; `*` for anything in the project), or a whole path from the root (`/srv/app/*`). The root, the
    folders in it, homes and the project's own folder may never be deleted.

    A command that cannot be parsed is denied if words in it could do harm; one that is too long or nested too deeply is
    a failure of the policy, and so are arguments that clients do not all read as the same JSON object. `text` is what
    the client gets in place of the call.
    """

    kind = "shell_rule"
    parameters_schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "deny": {
                "type": "array",
                "minItems": 1,
                "items": {"enum": list(RULES)},
                "default": list(DENIED),
                "description": "What to deny.",
            },
            "may_delete": {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "default": list(MAY_DELETE),
                "description": "What may be deleted recursively; * and ? are wildcards.",
            },
            "tools": {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "default": list(SHELL_TOOLS),
                "description": "Tools that run commands; * and ? are wildcards.",
            },
            "text": {"type": "string", "description": "Text the client gets instead of a denied call."},
        },
    }

    reads = frozenset()

    def __init__(self, parameters: JsonObject) -> None:
        check(parameters, self.parameters_schema)
        self._deny = texts(parameters.get("deny"), DENIED)
        self._choice = Choice(tuple(_deletable(texts(parameters.get("may_delete"), MAY_DELETE))))
        self._tools = texts(parameters.get("tools"), SHELL_TOOLS)
        self._text = as_text(parameters.get("text"))

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        """Raises ValueError if the arguments, or the commands in them, cannot be read within bounds."""
        if not isinstance(block, ToolCallStreamBlock):
            return None
        of_shell = is_nameless(block) or any(is_shell(name, self._tools) for name in names_of(block))
        # The body of a loop is read once per round, and each command of a pipe may get what all before it print.
        is_simple = "for" not in block.arguments and block.arguments.count("|") <= _FEW_PIPES
        self.require_short(block.length <= _SHORT and is_simple)
        lines = lines_in(read(block), of_shell=of_shell)
        if len(lines) > _MOST_LINES:
            raise ValueError("too many commands in one call")
        for line in lines:
            if danger := self._danger(line):
                return self._verdict(block.name, *danger)
        return ALLOW

    def _danger(self, line: Line) -> tuple[str, str] | None:
        text = line.text
        reader = Reader(line.folder, len(text))
        for step in line.steps:
            if isinstance(step, str):
                reader.read(step)
            else:
                reader.run([Word(cleaned(word)) for word in step])
        found = found_in(reader.commands, self._deny, self._choice)
        if found is None and reader.has_bomb and "system" in self._deny:
            return "system", "it starts itself over and over"
        found = found or found_in_text(text, self._deny)
        if found is None and not reader.is_whole and is_risky(text):
            return "unread", "it cannot be parsed, and has words in it that could do harm"
        return found

    def _verdict(self, name: str, group: str, what: str) -> Verdict:
        shown = shortened(name, _LONGEST_NAME)
        return Verdict(Decision.DENY, f"{shown} is denied: {what}.", self._text, {"rule": group})


def _deletable(globs: list[str]) -> list[str]:
    """Raises PolicyParametersError for what may never be deleted."""
    for number, glob in enumerate(globs):
        if glob.startswith(("/", "~", "..")) and is_vital(glob.replace("?", "x")):
            field = f"may_delete.{number}"
            raise PolicyParametersError(f"{field}: system paths may never be deleted", field)
    return globs
