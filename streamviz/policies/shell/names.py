"""Programs by what they do to a command line."""

SHELLS = frozenset("sh bash zsh dash ksh ash fish mksh rbash tcsh csh exe".split())
AWKS = ("awk", "gawk", "mawk")
# Those that run code which they are given as an option or as their input.
INTERPRETERS = frozenset(
    "python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua osascript tclsh awk gawk mawk"
    " rscript".split()
)
CODE_OPTIONS = ("-c", "-e", "-E", "-r", "--eval", "-p", "eval")

# What only runs another command: its options that take a value, and how many words of its own come before the command.
WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("-u -g -h -p -C -D -R -T -U -r -t --user --group --host --chdir", 0),
    "doas": ("-u -C", 0),
    "env": ("-u -C --unset --chdir", 0),
    "nohup": ("", 0),
    "timeout": ("-s -k --signal --kill-after", 1),
    "gtimeout": ("-s -k --signal --kill-after", 1),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n -p", 0),
    "chrt": ("", 1),
    "taskset": ("", 1),
    "time": ("-f -o", 0),
    "stdbuf": ("-i -o -e", 0),
    "setsid": ("", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("-a", 0),
    "coproc": ("", 0),
    "chroot": ("", 1),
    "unshare": ("", 0),
    "nsenter": ("-t --target", 0),
    "strace": ("-e -o -p -s", 0),
    "ltrace": ("-e -o -p -s", 0),
    "unbuffer": ("", 0),
    "caffeinate": ("-t -w", 0),
    "flock": ("-w -E", 1),
    "busybox": ("", 0),
    "toybox": ("", 0),
    "rtk": ("", 0),
    "npx": ("-p --package", 0),
    "bunx": ("", 0),
    "uvx": ("--from --with -p --python", 0),
    "xargs": ("-I -n -P -L -s -d -E -a --max-args --max-procs --delimiter --replace", 0),
    "parallel": ("-j --jobs -n -N", 0),
    "not": ("", 0),
    "then": ("", 0),
    "do": ("", 0),
    "else": ("", 0),
}
# What runs a command in a project's own environment: the words before it, its options that take a value.
RUNNERS: dict[str, tuple[tuple[str, ...], str]] = {
    "uv": (("run",), "--with --python -p --extra --group --project --directory --env-file"),
    "poetry": (("run",), "-C -P --directory --project"),
    "pipenv": (("run",), ""),
    "pdm": (("run",), "-p --project"),
    "rye": (("run",), ""),
    "hatch": (("run",), "-e --env"),
    "conda": (("run",), "-n -p --name --prefix --cwd"),
    "npm": (("exec", "x"), "-p --package -w --workspace"),
    "pnpm": (("exec", "dlx"), "-C --dir --filter"),
    "yarn": (("exec", "dlx"), ""),
    "bundle": (("exec",), ""),
    "mise": (("exec", "x"), ""),
    "direnv": (("exec",), ""),
}
# What takes a command as text behind its own words: its options that take a value.
REMOTE = {
    "ssh": "-i -p -o -l -L -R -D -F -J -b -c -e -m -w -W -E -I -Q -S -O -B",
    "watch": "-n -d --interval",
    "tmux": "-t -s -n -c -L -S -f",
    "at": "-f -q",
    "batch": "",
}
# What takes a command as text, behind the option that is named.
TEXT_OPTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(["su", "runuser", "script"], ("-c", "--command")),
    "git": (
        "--exec",
        "-x",
        "--tree-filter",
        "--index-filter",
        "--msg-filter",
        "--env-filter",
        "--commit-filter",
        "--tag-name-filter",
        "--parent-filter",
    ),
    "man": ("-P", "--pager"),
    "make": ("--eval",),
    **dict.fromkeys(["nix-shell", "nix"], ("--run", "--command", "-c")),
    "env": ("-S", "--split-string"),
    "flock": ("-c", "--command"),
    "wsl": ("-e", "--exec"),
    "cmd": ("/c", "/k"),
    "npx": ("-c", "--call"),
    "npm": ("-c", "--call"),
    "tar": ("-I", "--use-compress-program", "--to-command", "-F", "--info-script"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "powershell": ("-c", "-command"),
    "pwsh": ("-c", "-command"),
}

DOWNLOADERS = frozenset(
    "curl wget fetch aria2c http https httpie xh lynx w3m links ftp lftp tftp nc ncat netcat socat telnet openssl"
    " iwr irm invoke-webrequest invoke-restmethod scp dig nslookup gsutil".split()
)
DECODERS = frozenset(
    "base64 base32 basenc gbase64 xxd openssl uudecode rev tr gpg gunzip zcat bzcat xzcat bunzip2 unxz gzip hexdump"
    " od perl sed".split()
)
SENDERS = frozenset(
    "curl wget nc ncat netcat socat telnet scp rsync sftp ftp lftp tftp ssh http https xh mail mailx sendmail dig"
    " nslookup host ping openssl gsutil rclone aws".split()
)
READERS = frozenset(
    "cat tac less more head tail base64 base32 xxd od hexdump strings cp scp rsync tar zip gzip 7z awk gawk sed grep"
    " egrep rg cut sort uniq nl bat tee dd curl wget nc ncat openssl python python3 perl ruby node php xclip pbcopy"
    " wl-copy sftp rclone gsutil aws get-content gc type vim vi nano".split()
)
