"""A server that breaks the protocol in one named way, after as much good behaviour as the way needs.

It speaks bytes and knows no library of ours or anybody's, so that nothing repairs what it sends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

WAY = sys.argv[1]
TOOLS = [{"name": "go", "inputSchema": {"type": "object"}}]


def say(value: object) -> None:
    raw(json.dumps(value).encode())


def raw(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def answer(request: dict, result: object) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "result": result})


def initialize(request: dict) -> None:
    match WAY:
        case "exits_at_start":
            print(f"cannot read {os.environ.get('TOKEN')}", file=sys.stderr)
            sys.exit(3)
        case "silent":
            time.sleep(3600)
        case "old_words":
            answer(
                request,
                {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "h", "version": "1"}},
            )
        case "nonsense":
            answer(request, {"capabilities": 3})
        case "says_no":
            say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": "licence expired\x1b[2J"}})
        case "noisy":
            for count in range(3000):
                raw(b"starting up, step %d" % count)
        case _:
            if WAY == "prints_first":
                raw(b"Server running on stdio")
                raw(b"")
            if WAY == "loud":
                sys.stderr.write("z" * 400_000)
            capabilities = {"tools": {"listChanged": True}}
            server = {"name": "hostile", "version": "1"}
            answer(request, {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": server})


def list_tools(request: dict) -> None:
    match WAY:
        case "endless_list":
            answer(request, {"tools": [], "nextCursor": "again"})
        case "large_list":
            wide = {"name": f"t{request['id']}", "description": "x" * 300_000, "inputSchema": {"type": "object"}}
            answer(request, {"tools": [wide], "nextCursor": "again"})
        case "asks_and_hears_nothing":
            asked = {"jsonrpc": "2.0", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}
            count = 0
            while True:
                count += 1
                say({**asked, "id": f"{count}{'x' * 4000}"})
        case "many_tools":
            answer(request, {"tools": [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(300)]})
        case "twins":
            answer(request, {"tools": TOOLS * 2})
        case "bad_schemas":
            wide = {"type": "object", "description": "x" * 70_000}
            answer(request, {"tools": [{"name": "wide", "inputSchema": wide}, *TOOLS]})
        case _:
            answer(request, {"tools": TOOLS})


def words(request: dict, text: str) -> None:
    answer(request, {"content": [{"type": "text", "text": text}]})


def die(_request: dict) -> None:
    print("out of memory", file=sys.stderr, flush=True)
    os._exit(9)


def start_another(request: dict) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    words(request, str(child.pid))


def fail(request: dict) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32050, "message": "w" * 9000}})


CALLS = {
    "dies_mid_call": die,
    "bad_json": lambda request: raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[' % request["id"]),
    "twice": lambda request: raw(b'{"jsonrpc":"2.0","id":%d,"id":99,"result":{"content":[]}}' % request["id"]),
    "an_array": lambda _request: raw(b"[1,2]"),
    "huge": lambda request: raw(b'{"jsonrpc":"2.0","id":%d,"result":{"x":"%s"}}' % (request["id"], b"y" * 3_000_000)),
    "wrong_id": lambda request: answer({"id": request["id"] + 1000}, {"content": []}),
    "never": lambda _request: None,
    "no_result": lambda request: answer(request, {"content": "all of it"}),
    "wants_more": lambda request: answer(request, {"resultType": "inputRequired", "inputRequests": {}}),
    "error": fail,
    "separators": lambda request: words(request, "a\u2028b\x85c"),
    "orphan": start_another,
    "stops_for_nothing": lambda request: words(request, str(os.getpid())),
}


def call(request: dict) -> None:
    CALLS.get(WAY, lambda request: words(request, "went"))(request)


def main() -> None:
    if WAY == "stops_for_nothing":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    handlers = {"initialize": initialize, "tools/list": list_tools, "tools/call": call}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request.get("method") in handlers:
            handlers[request["method"]](request)
        elif "id" in request and "method" in request:
            say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}})
    while WAY == "stops_for_nothing":
        time.sleep(1)


main()
