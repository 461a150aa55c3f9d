"""Patterns of what is dangerous, for RE2, because a model wrote what they search."""

from typing import NamedTuple

from streamviz.policies.parameters import Pattern, compile_pattern, encodable


def _any_of(*patterns: str, flags: str = "") -> Pattern:
    return compile_pattern(flags + "|".join(f"(?:{pattern})" for pattern in patterns), "pattern")


def has(pattern: Pattern, text: str) -> bool:
    """Whether the pattern is in the text."""
    return pattern.search(encodable(text)) is not None


SOCKETS = _any_of(r"/dev/(?:tcp|udp)/")
SET_UID = _any_of(r"^[augo]*\+[rwxt]*s", r"^0?[4-7][0-7]{3}\z")
# Tests of servers have sockets and start programs, too. What tells them apart is that they do not give one the other:
# by calls that replace the program, or by what the socket says.
_REPLACES = r"(?:[^\w.]|\bos\.|\)\.)(?:exec[lvpe]{0,3}|system|popen)\s*[({\"'$`q]"
_READS = r"(?:\brec(?:v|eive)|makefile|fileno|stdin\s*=\s*\w+\s*[,)])"
_STARTS = r"(?:subprocess|\bexec|\bsystem|popen|spawn)"
_IS_A_SHELLS = r"(?:\w\.stdin\b|['\"/](?:ba)?sh['\"]|cmd\.exe|(?:exec(?:Sync)?|spawn)\s*\(\s*\w+\s*[.,)])"
# Code that opens a shell to somebody else, runs what it fetches or decodes, or deletes what is vital.
REMOTE_SHELL = _any_of(
    rf"\bsocket.*(?:dup2|pty\.spawn|/bin/(?:ba)?sh|{_REPLACES})",
    rf"\bsocket.*(?:{_READS}.*{_STARTS}|{_STARTS}.*{_READS})",
    r"fsockopen.*exec",
    rf"\bnet\b.*child_process.*{_IS_A_SHELLS}",
    rf"child_process.*\bnet\b.*{_IS_A_SHELLS}",
    r"TCPSocket.*(?:exec|popen|\bsystem|\bsh\b)",
    flags="(?is)",
)
AWK_RUNS = _any_of(r"\bsystem\s*\(", r"\|\s*getline", r"\|\s*\"")
_FOREIGN_TEXT = r"(?:b64decode|fromhex|unhexlify|decompress|urlopen|requests\.get|httpx\.get|base64|atob)"
FOREIGN_CODE = _any_of(
    rf"(?:^|[^\w.]|builtins\W{{1,5}})(?:exec|eval|compile)\s*\(.*{_FOREIGN_TEXT}",
    rf"\b(?:system|popen|run)\s*\(\s*[^;\n]*{_FOREIGN_TEXT}",
    r"marshal\.loads",
    r"(?:^|[^\w.])eval\b[^;{]*\bget\b",
    r"\b(?:include|require)(?:_once)?\b\s*\(?\s*['\"](?:https?|ftp):",
    r"\bimport\b\s*(?:\(\s*|[^;('\"]*\bfrom\s*)?['\"`]https?:",
    r"\bload(?:string)?\s*\(\s*require\s*\(?\s*['\"]socket\.http",
    flags="(?is)",
)
# Together they are foreign code, too: a program that downloads something, and runs text. Methods called `eval`, and
# Perl's `eval {…}`, run none.
FETCHES = _any_of(
    r"urlopen|urlretrieve|\b(?:requests|httpx)\.|\baiohttp\b|\bhttp\.client\b|\burllib3\b|\bfetch\s*\(|\baxios\b",
    r"\bhttps?\.(?:get|request)\b|['\"](?:node:)?https?['\"]",
    r"\bget\s*\(?\s*['\"]https?:|\bLWP\b|\bHTTP::Tiny\b|\bopen-uri\b|\bNet::HTTP\b|\bURI\.open\b|\bcurl_exec\b|\b(?:curl|wget)\b",
    r"\b(?:file_get_contents|fopen|readfile)\s*\(\s*['\"](?:https?|ftp):",
)
RUNS_TEXT = _any_of(
    r"(?:^|[^\w.])(?:exec|execfile|eval)\s*\(",
    r"(?:^|[^\w.])eval\s+[$`'\"\w]|\(\s*eval\s*\)",
    r"\b(?:new\s+Function|Function\s*\(|vm\.run\w+|(?:instance|class|module)_eval)\b",
)
WIPES = _any_of(
    r"(?:rmtree|rmSync|rm_rf|removeSync|remove_tree|rimraf(?:\.sync)?)[\s(]\s*(?:os\.path\.expanduser\s*\(\s*)?"
    r"['\"](?:/|~|/(?:home|etc|usr|var|root|bin|boot|lib|opt)[^'\"]*|\.|\.\.)/?['\"]",
    r"(?:rmtree|rmSync|rm_rf|removeSync|remove_tree|rimraf(?:\.sync)?)\s*\(\s*(?:str\s*\(\s*)?"
    r"(?:(?:pathlib\.)?Path\.home\(\)|(?:os\.)?homedir\(\)|process\.env\.HOME|os\.environ\[.HOME.\]|Dir\.home)\s*[,)]",
    flags="(?is)",
)
_END = r"\z"
# Files that hold private keys and credentials. Those of PRIVATE_WHEN_SENT are everyday files, which may be read but not
# sent.
PRIVATE = _any_of(
    r"(?:^|/)\.ssh/(?:identity|\*|id_\*)" + _END,
    r"(?:^|/)id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?" + _END,
    r"(?:^|/)\.(?:aws/credentials|git-credentials|netrc|pgpass|my\.cnf|docker/config\.json|kube/config|vault-token)"
    + _END,
    r"^~/\.npmrc" + _END,
    r"(?:^|/)\.(?:pypirc|config/gh/hosts\.yml|claude/\.credentials\.json|codex/auth\.json)" + _END,
    r"(?:^|/)\.(?:config/gcloud/[^ ]*(?:credentials|tokens)[^ ]*|azure/[^ ]*oken[^ ]*)" + _END,
    r"(?:^|/)\.(?:gnupg/(?:private-keys|secring)[^ ]*|bitcoin/[^ ]*|config/solana/id\.json)" + _END,
    r"(?:^|/)(?:Login Data|logins\.json|key4\.db|wallet\.dat|master\.key)" + _END,
    r"(?:^|/)\.(?:ssh|gnupg|aws)/?" + _END,
    r"/etc/(?:shadow|gshadow|sudoers|krb5\.keytab|ssh/ssh_host_[a-z0-9]+_key)-?" + _END,
    r"/proc/[^/]+/environ" + _END,
    r"^(?:/var)?/run/secrets/",
)
PRIVATE_WHEN_SENT = _any_of(
    r"(?:^|/)\.(?:env(?:\.[a-z]+)?|npmrc)" + _END,
    r"(?:^|/)\.(?:bash|zsh|python|mysql|psql)_history" + _END,
    r"(?:^|/)id_[a-z0-9]+" + _END,
    r"\.pem" + _END,
    r"^/etc/passwd" + _END,
)
DROPS = _any_of(
    r"\bdrop\s+(?:database|schema|table|keyspace|owned|tablespace)\b",
    r"\btruncate\s+(?:table\s+)?[\w\"`.]+\s*(?:,|;|cascade|restart|\z)",
    r"\bdelete\s+from\s+[\w\"`.]+\s*(?:;|\z)",
    flags="(?i)",
)
MONGO_DROPS = _any_of(r"\bdropDatabase\s*\(", r"\.drop\s*\(", r"\.(?:deleteMany|remove)\s*\(\s*(?:\{\s*\})?\s*\)")
# Files whose lines are later run automatically, as commands.
STARTED = _any_of(
    r"(?:^|/)\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile|zlogin|envrc|xprofile|xinitrc)"
    + _END,
    r"(?:^|/)\.config/fish/(?:config\.fish|conf\.d/[^/]+)" + _END,
    r"(?:^|/)\.git/hooks/[^/]+" + _END,
    r"^/etc/(?:profile|bash\.bashrc|rc\.local|crontab|zsh/\w+)" + _END,
    r"^/etc/(?:profile\.d|cron\.\w+|init\.d)/",
    r"^/var/spool/cron/",
)
# What a command that cannot be parsed must not contain.
RISKY = _any_of(
    r"\brm\b[^;|&\n]*\s-\w*r",
    r"\brm\b.*--recursive",
    r"\brm\b.*[ \"'](?:/|~|\$HOME)",
    r"mkfs",
    r"\bdd\b.*\b[io]f=",
    r"/dev/(?:tcp|udp|sd|nvme|disk|mem)",
    r"\|\s*(?:sudo\s+)?(?:\S*/)?(?:ba|z|da|k)?sh\b",
    r"\beval\b",
    r"\$'|<\(|\$\(|`",
    r"base64|xxd",
    r"\bfind\b.*-(?:delete|exec)",
    r"\b(?:shutdown|reboot|poweroff)\b",
    r"\bch(?:mod|own)\b.*\s-\w*R",
    r":\(\)\s*\{",
    r"\.ssh/id_|/etc/shadow",
    r"\b(?:nc|ncat)\b.*\s-\w*[ec]",
    flags="(?is)",
)


class Foreign(NamedTuple):
    """What is dangerous in a command for Windows shells, which are not parsed, and the group that it belongs to."""

    group: str
    pattern: Pattern


# The rest of a command, up to what ends it: a `&` does, except within a name.
_ONE = r"(?:[^;&|\n]|\w&\w)*"
# From one command's output to the command at the end of its pipe, or in a block there.
_PIPED_TO = r"\|(?:(?:[^;&\n]|\w&\w)*[|{(])?\s*"
_REMOVERS = r"(?:remove-item|ri|rd|rmdir|del|erase)"
_REMOVE = rf"(?:\b{_REMOVERS}|\|\s*rm)\b{_ONE}"
_RECURSIVE = r"[/-](?:s|re?|rec\w*)\b"
_ALL_OF = rf"(?:\s|/\w){_RECURSIVE}"
_FOLDERS = r"(?:userprofile|systemroot|systemdrive|homedrive)"
_HOME = rf"(?:\$\{{?env:{_FOLDERS}|\$\{{?home|%{_FOLDERS}%)"
_DRIVE = rf"(?:[a-z]:[\\/]?(?:\*|\s|'|\"|\z|windows|users)|{_HOME}|[\s'\"][~/\\][\\/]?(?:\*|\s|'|\"|\z))"
_LIST_OF = rf"\b(?:get-childitem|gci|dir|ls)\b{_ONE}"
_FETCH = r"\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring|downloaddata|frombase64string)\b"
# Separate from _FETCH, because these are common in shells where `iex` is Elixir's.
_CURL = r"\b(?:curl|wget)\b"
_INVOKE = r"(?:\b(?:iex|invoke-expression)\b|\[scriptblock\]::create)"
# A program or script is saved, and then started.
_RUNNABLE = r"\.(?:ps1|exe|bat|cmd|msi|vbs|hta|scr)\b"
_SAVE = (
    r"\b(?:(?:iwr|irm|invoke-webrequest|invoke-restmethod|start-bitstransfer|bitsadmin|certutil|downloadfile)\b|curl\.exe)"
    rf"{_ONE}{_RUNNABLE}"
)
_START = (
    rf"[;&|\n]\s*(?:(?:&|\.|start|cmd\s+/c|start-process|saps|(?:powershell|pwsh)(?:\.exe)?\b{_ONE})\s+)?"
    rf"['\"]?[\w.:$\\/-]*{_RUNNABLE}"
)
_ENCODED = r"\b(?:powershell|pwsh)(?:\.exe)?\b.*\s[-/]e(?:n|n?c\w*)?\s+['\"]?[a-z0-9+/=]{16,}"
WINDOWS = (
    Foreign(
        "deletes",
        _any_of(
            f"{_REMOVE}{_ALL_OF}{_ONE}{_DRIVE}",
            rf"{_REMOVE}{_DRIVE}(?:{_ONE}\s)?(?:/\w)*{_RECURSIVE}",
            rf"{_LIST_OF}{_DRIVE}{_ONE}{_PIPED_TO}(?:{_REMOVERS}|rm)\b",
            rf"\[(?:system\.)?io\.directory\]::delete\(\s*['\"]?(?:{_DRIVE}|{_HOME})",
            flags="(?i)",
        ),
    ),
    Foreign("disks", _any_of(r"\bformat(?:-volume\b|\s+[a-z]:)", r"\bclear-disk\b", r"\bcipher\s+/w", flags="(?i)")),
    Foreign("disks", _any_of(r"\bvssadmin\b[^\n]*delete", r"\bwmic\b[^\n]*shadowcopy[^\n]*delete", flags="(?i)")),
    Foreign("remote_code", _any_of(f"{_FETCH}.*{_INVOKE}", f"{_INVOKE}.*{_FETCH}", flags="(?is)")),
    Foreign(
        "remote_code",
        _any_of(f"{_CURL}{_ONE}{_PIPED_TO}{_INVOKE}", rf"{_INVOKE}[^\w;&|\n]*{_CURL}", flags="(?i)"),
    ),
    Foreign("remote_code", _any_of(f"{_SAVE}.*{_START}", flags="(?is)")),
    Foreign(
        "remote_code",
        _any_of(r"\b(?:msiexec|regsvr32)(?:\.exe)?\s[^;&|\n]*[/-]i(?:\s+|:)['\"]?https?:", flags="(?i)"),
    ),
    Foreign("remote_code", _any_of(_ENCODED, r"\bmshta(?:\.exe)?\s+['\"]?(?:https?|\w+script):", flags="(?i)")),
    Foreign("system", _any_of(r"\b(?:stop|restart)-computer\b", r"\bbcdedit\b[^\n]*/(?:set|delete)", flags="(?i)")),
    Foreign(
        "system",
        _any_of(
            r"\bset-mppreference\b[^;\n]*-disable\w+\s+(?:\$true|1)\b",
            r"\badd-mppreference\b[^;\n]*-exclusion",
            r"\bnet1?\s+(?:user|localgroup)\b[^;&|\n]*/add\b",
            r"\bnetsh\b[^;&|\n]*\bstate\s+off\b",
            r"\breg\s+(?:delete\s+['\"]?hklm|save\s+['\"]?hklm\\(?:sam|system|security))\b",
            flags="(?i)",
        ),
    ),
)
