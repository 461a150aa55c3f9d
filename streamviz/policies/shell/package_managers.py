"""How package managers are told what to install or to run."""

# Programs that install all the packages that follow one of these verbs.
INSTALLS: dict[str, frozenset[str]] = {
    name: frozenset(verbs.split())
    for name, verbs in {
        "npm": "install i in ins inst add",
        "pnpm": "install i add",
        "yarn": "add",
        "bun": "install i add a",
        "deno": "install add",
        "pip": "install wheel",
        "pipx": "install inject",
        "uv": "install add",
        "poetry": "add",
        "pdm": "add",
        "rye": "add install",
        "pipenv": "install",
        "cargo": "install",
        "gem": "install",
        "brew": "install",
    }.items()
}
# Programs that run the first package or script that follows: the other words are its own. Some need no verb.
RUNS: dict[str, frozenset[str]] = {
    name: frozenset(verbs.split())
    for name, verbs in {
        "npm": "exec x create init",
        "pnpm": "dlx create",
        "yarn": "dlx create",
        "bun": "x run create",
        "deno": "run",
        "pipx": "run",
        "uv": "run",
    }.items()
}
RUNS_AT_ONCE = frozenset({"npx", "pnpx", "bunx", "uvx", "deno", "bun"})
# What follows these is a script of the project, and its arguments.
SCRIPTS = frozenset({"run", "run-script", "test", "start"})
# Options whose value is an address of something else.
REGISTRIES = frozenset(
    "--index-url --extra-index-url --find-links --index --default-index --registry --source --proxy --trusted-host"
    " --cert".split()
)
OF_PIP = frozenset({"-i", "-f"})
# Options of npm and its kin whose value is a folder.
FOLDERS = frozenset("-w --workspace --prefix -C --dir --filter -F --cwd --cache".split())
