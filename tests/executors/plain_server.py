"""An MCP server on standard input that starts fast, as it imports next to nothing, and that misbehaves on demand.

It lists its tools in pages of five. It writes PRELUDE from its environment before anything else.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any

# No value satisfies this.
OUTPUT_SCHEMA = {"type": "object", "not": {}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
# Some servers put their settings into a schema.
TOLD = {"type": "object", "properties": {"as": {"enum": ["plain", os.environ.get("CALCULATOR_TOKEN", "nothing")]}}}
DESCRIPTIONS = {
    "add": "Adds two numbers.",
    "token": "Says what it was given.",
    "die": "Ends the server.",
    "hang": "Blocks all of the server.",
    "secret": "Not on the list.",
    "garbage": "Writes what is no message, and answers.",
    "long": "Answers so many bytes.",
    "nameless": "The same, where nobody can tell to what.",
    "child": "Starts a program, and says its number.",
    "long_story": "x" * 5_000,
    "data": "Answers with data alone, or a link.",
    "broken": "Answers what is no message.",
    "chatty": "Says so many things that nobody asked for, and answers.",
    "forget": "Has no tool that adds any more, and says so.",
}
PAGE = 5


def say(message: dict[str, object]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def listed(cursor: str) -> dict[str, object]:
    names, start = list(DESCRIPTIONS), int(cursor or 0)
    told = [
        {"name": name, "description": DESCRIPTIONS[name], "inputSchema": TOLD if name == "token" else SCHEMA}
        | ({"outputSchema": OUTPUT_SCHEMA} if name == "data" else {})
        for name in names[start : start + PAGE]
    ]
    return {"tools": told, **({"nextCursor": str(start + PAGE)} if start + PAGE < len(names) else {})}


def called(name: str, given: dict[str, object]) -> str:
    match name:
        case "add":
            return str(int(str(given["a"])) + int(str(given["b"])))
        case "token":
            return os.environ.get("CALCULATOR_TOKEN", "nothing")
        case "forget":
            DESCRIPTIONS.pop("add")
            say({"method": "notifications/tools/list_changed"})
        case "die":
            os._exit(1)
        case "hang":
            with open(str(given["file"]), "w") as file:
                file.write(str(os.getpid()))
            time.sleep(3600)
        case "garbage":
            say({"method": "notifications/message", "params": {}})
            print("Listening …\n\n{\n[1]\n{}\nnull\n\x1b[31m", flush=True)
        case "long":
            return "x" * int(str(given["bytes"]))
        case "nameless":
            print("y" * int(str(given["bytes"])), flush=True)
        case "child":
            return str(subprocess.Popen(["sleep", "3600"]).pid)
    return "done"


def chat(count: int) -> None:
    for _ in range(count):
        say({"method": "notifications/tools/list_changed"})


def answer(message: dict[str, dict[str, Any]]) -> dict[str, object]:
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            about = {"name": "plain", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return listed(params.get("cursor", ""))
        case _:
            if params["name"] not in DESCRIPTIONS:
                raise ValueError(f"there is no {params['name']}")
            if params["name"] == "chatty":
                chat(params["arguments"]["count"])
            if params["name"] == "data":
                given = params["arguments"]
                return {"content": given.get("content", []), "structuredContent": given.get("structured")}
            is_broken = params["name"] == "broken"
            text = "\ud800" if is_broken else called(params["name"], dict(params.get("arguments") or {}))
            return {"content": [{"type": "text", "text": text}]}


print(os.environ.get("PRELUDE", ""), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        try:
            say({"id": message["id"], "result": answer(message)})
        except (KeyError, ValueError) as error:
            say({"id": message["id"], "error": {"code": -32602, "message": str(error)}})
