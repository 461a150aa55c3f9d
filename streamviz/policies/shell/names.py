"""Programs grouped by their role in a command line."""

SHELLS = frozenset("sh bash zsh dash ksh ash fish mksh rbash tcsh csh exe yash posh oksh nu elvish xonsh osh".split())
AWKS = ("awk", "gawk", "mawk")
# Programs that run code given as an option or as their input.
INTERPRETERS = frozenset(
    "python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua osascript tclsh awk gawk mawk"
    " rscript r julia tsx ts-node irb".split()
)
CODE_OPTIONS = ("-c", "-e", "-E", "-r", "--eval", "-p", "--print", "eval")

# Programs that take a command as text, after one of these options.
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
        "--upload-pack",
        "--receive-pack",
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
    " curlie axel lwp-request iwr irm invoke-webrequest invoke-restmethod scp dig nslookup gsutil".split()
)
DECODERS = frozenset(
    "base64 base32 basenc gbase64 xxd openssl uudecode rev tr gpg gunzip zcat bzcat xzcat bunzip2 unxz gzip hexdump"
    " od perl sed".split()
)
SENDERS = frozenset(
    "curl wget nc ncat netcat socat telnet scp rsync sftp ftp lftp tftp ssh http https xh mail mailx sendmail dig"
    " nslookup host ping openssl gsutil rclone aws".split()
)
# What these make of text in the command itself is unknown. Nobody who wants a script to be read writes it that way.
FILTERS = frozenset("cut awk gawk mawk jq yq fold paste column expand".split())
READERS = frozenset(
    "cat tac less more head tail base64 base32 xxd od hexdump strings cp scp rsync tar zip gzip 7z awk gawk sed grep"
    " egrep rg cut sort uniq nl bat tee dd curl wget nc ncat openssl python python3 perl ruby node php xclip pbcopy"
    " wl-copy sftp rclone gsutil aws get-content gc type vim vi nano".split()
)
