"""Where commands put what they download, unpack, split or copy."""

import re
from itertools import pairwise

from streamviz.policies.shell.commands import Command, operands
from streamviz.policies.shell.wrappers import behind, joined_to

_OUTPUTS = ("-o", "-O", "--output", "--output-document", "--out", "-outfile")
_JOINED_OUTPUT = re.compile(r"-[a-zA-Z]*?[oO](.+)", re.DOTALL)
# Programs, and options, with which a file is called what its URL ends with.
_NAMED_BY_URL = ("wget", "aria2c", "axel")
_BY_URL = re.compile(r"-\w*O\w*|--remote-name(?:-all)?")
_FEW = 8
_OUTPUT_FOLDERS = ("-P", "--directory-prefix", "--output-dir", "-d", "--dir")
FETCHERS = frozenset("curl wget aria2c axel fetch iwr irm invoke-webrequest invoke-restmethod".split())
_TARS = ("tar", "bsdtar", "gtar")
_TAR_FOLDER = re.compile(r"-?[a-zA-Z]*C\Z")
# Programs that unpack archives, and the options that name the folder.
_UNPACKERS = {
    **dict.fromkeys(_TARS, ("-C", "--directory", "--one-top-level")),
    "unzip": ("-d",),
    **dict.fromkeys(("7z", "7za", "7zz", "unrar", "cpio", "ar", "jar"), ("-o",)),
}
# Modes of these in which nothing is unpacked, given first.
_LEAVES_PACKED = {
    **dict.fromkeys(_TARS, re.compile(r"-?[ctru][a-wyzA-Z]*|--(?:list|create)")),
    "unzip": re.compile(r"-[ltZ][a-zA-Z]*|-v"),
}
_DECOMPRESSORS = frozenset("gunzip bunzip2 unxz unlzma unzstd gzip bzip2 xz zstd".split())
_REMOTE_PATH = re.compile(r"[\w.@-]+:|\w+://")


def packs(command: Command) -> bool:
    """Whether it makes an archive, or only lists what is in one."""
    packed = _LEAVES_PACKED.get(command.name)
    return packed is not None and any(map(packed.fullmatch, command.arguments[:1]))


def unpacks(command: Command) -> bool:
    """Whether it unpacks archives."""
    return command.name in _UNPACKERS and not packs(command)


def unpacked_to(command: Command) -> list[str]:
    """The folders that it names for what it unpacks; without any, it is the one it runs in."""
    options = _UNPACKERS[command.name]
    words = ["-C" if command.name in _TARS and _TAR_FOLDER.match(each) else each for each in command.arguments]
    return [*behind(words, options), *joined_to(words, options)]


def decompressed(command: Command, path: str) -> str:
    """What becomes of a compressed file: it loses the end of its name. Empty if the command is for something else."""
    return path.rpartition(".")[0] if command.name in _DECOMPRESSORS else ""


def beginnings(command: Command) -> list[str]:
    """How the names of the files begin that `split` writes."""
    own = [each for each in command.arguments if each == "-" or not each.startswith("-")]
    return own[-1:] if len(own) > 1 else ["x"]


def copies_from_elsewhere(command: Command) -> bool:
    """Whether files are copied from another machine: the last operand is then where to."""
    name, rest = command.name, operands(command.arguments)
    if name in ("scp", "rsync", "sftp"):
        return any(_REMOTE_PATH.match(each) for each in rest[:-1])
    is_of_cloud = (name, *rest[:1]) in (("aws", "s3"), ("gsutil", "cp"), ("rclone", "copy"), ("rclone", "copyto"))
    return is_of_cloud and "://" not in rest[-1]


def downloads(command: Command) -> list[str]:
    """The files that a download is saved to."""
    arguments = command.arguments
    to = [word.text for word in command.flow.writes]
    to += [*behind(arguments, _OUTPUTS), *(found[1] for each in arguments if (found := _JOINED_OUTPUT.match(each)))]
    to += [after for each, after in pairwise(arguments) if re.fullmatch(r"-\w+[oO]", each)]
    if command.name in _NAMED_BY_URL or any(map(_BY_URL.fullmatch, arguments)):
        to += [url.rpartition("/")[2] for url in arguments if "/" in url]
    folders = [*behind(arguments, _OUTPUT_FOLDERS), *(joined_to(arguments, ("-P",)) if command.name == "wget" else ())]
    # The last one counts, in whichever of the two ways it is written.
    to += [f"{folder}/{path}" for folder in folders[-_FEW:] for path in to]
    return [path for path in to if path and path != "-"]
