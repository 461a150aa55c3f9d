"""How package managers are told what to install or to run."""

# Programs that install all the packages that follow one of these verbs.
INSTALLS: dict[str, frozenset[str]] = {
    name: frozenset(verbs.split())
    for name, verbs in {
        "npm": "install i in ins inst isntall add install-test it update up upgrade",
        "pnpm": "install i add install-test it update up upgrade",
        "yarn": "add up upgrade",
        "bun": "install i add a update",
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
# Programs that run a package without a verb: all that follows it is its own.
RUNS_AT_ONCE = frozenset({"npx", "pnpx", "bunx", "uvx"})
# The same for a script, if there is no verb.
RUNS_SCRIPTS = frozenset({"deno", "bun"})
# What follows these is a script of the project, and its arguments.
SCRIPTS = frozenset({"run", "run-script", "test", "start"})
_NPM = (
    "-w --workspace --prefix -C --cache --registry --proxy --https-proxy --userconfig --globalconfig --logfile"
    " --loglevel"
)
_PNPM = (
    "-C --dir --filter -F --registry --store-dir --virtual-store-dir --modules-dir --lockfile-dir --cache-dir"
    " --reporter"
)
_BUN = "--cwd --filter --cache-dir --registry --config"
_PIP = "--index-url --extra-index-url --find-links -i -f -c --constraint --proxy --trusted-host --cert --log"
_UV = f"{_PIP} --index --default-index --mirror --project --directory --python"
# Options whose value is something else than a package: a folder, a registry.
VALUED: dict[str, frozenset[str]] = {
    name: frozenset(options.split())
    for name, options in {
        **dict.fromkeys(("npm", "npx"), _NPM),
        **dict.fromkeys(("pnpm", "pnpx"), _PNPM),
        "yarn": "--cwd --cache-folder --modules-folder --registry --proxy --https-proxy --global-folder --link-folder",
        **dict.fromkeys(("bun", "bunx"), _BUN),
        "deno": "--cert --config -c",
        **dict.fromkeys(("pip", "pipx"), _PIP),
        **dict.fromkeys(("uv", "uvx"), _UV),
        "poetry": "--source -C --directory",
        "pdm": "-p --project",
        "pipenv": "--index -i --pypi-mirror",
        "cargo": "--index --registry",
        "gem": "-s --source -p --http-proxy",
    }.items()
}
