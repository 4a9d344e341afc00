"""A server of the official SDK in a process of its own: `official.py stdio | http | http-json`.

Over HTTP it takes a free loopback port and prints it as its first line. What tests want to know of it, its tools tell.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
ANY: dict[str, Any] = {"type": "object"}
NUMBERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}


def text(said: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)])


def tool(name: str, schema: dict[str, Any] = ANY, **hints: bool) -> types.Tool:
    annotations = types.ToolAnnotations(**hints) if hints else None
    return types.Tool(name=name, description=f"The tool {name}.", input_schema=schema, annotations=annotations)


TOOLS = [
    tool("add", NUMBERS, read_only_hint=True),
    *map(tool, ("ask_back", "die", "fail", "grow", "link", "long", "nothing", "picture", "slow", "table")),
    tool("variables", read_only_hint=True, destructive_hint=False),
    tool("where"),
    tool("a name/with dots.and more", ANY),
]
PAGE = 5


async def list_tools(_context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    start = int(params.cursor) if params and params.cursor else 0
    more = str(start + PAGE) if start + PAGE < len(TOOLS) else None
    return types.ListToolsResult(tools=TOOLS[start : start + PAGE], next_cursor=more)


async def slow(arguments: dict[str, Any]) -> types.CallToolResult:
    """Waits until it is cancelled and leaves word of both."""
    note = Path(arguments["note"])
    note.with_suffix(".begun").touch()
    try:
        await anyio.sleep_forever()
    finally:
        note.touch()


async def ask_back(context: Any) -> types.CallToolResult:
    """What a client answers to each thing a server may ask of it."""
    asked = {
        "sampling": types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(messages=[], max_tokens=1),
        ),
        "elicitation": types.ElicitRequest(
            params=types.ElicitRequestFormParams(
                message="your password?", requested_schema={"type": "object", "properties": {}}
            )
        ),
        "roots": types.ListRootsRequest(),
    }
    answers = {}
    for name, request in asked.items():
        try:
            await context.session.send_request(request, types.EmptyResult)
            answers[name] = "granted"
        except MCPError as error:
            answers[name] = error.error.message
    return text(json.dumps(answers))


def table(_arguments: dict[str, Any]) -> types.CallToolResult:
    rows = {"rows": [1, 2, {"three": None}]}
    said = [types.TextContent(type="text", text=json.dumps(rows))]
    return types.CallToolResult(content=said, structured_content=rows)


def picture(_arguments: dict[str, Any]) -> types.CallToolResult:
    pixel = types.ImageContent(type="image", data=PNG, mime_type="image/png")
    return types.CallToolResult(content=[types.TextContent(type="text", text="One pixel:"), pixel])


def link(_arguments: dict[str, Any]) -> types.CallToolResult:
    outer = types.ResourceLink(type="resource_link", name="log", uri="file:///var/log/x", description="A log")
    inner = types.TextResourceContents(uri="note://1", text="said so")
    return types.CallToolResult(content=[outer, types.EmbeddedResource(type="resource", resource=inner)])


def fail(_arguments: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text="no such row")], is_error=True)


def die(_arguments: dict[str, Any]) -> types.CallToolResult:
    print("the last words", file=sys.stderr, flush=True)
    os._exit(7)


SIMPLE = {
    "add": lambda given: text(str(given["a"] + given["b"])),
    "table": table,
    "picture": picture,
    "link": link,
    "fail": fail,
    "long": lambda given: text("x" * int(given["size"])),
    "nothing": lambda _given: types.CallToolResult(content=[]),
    "variables": lambda _given: text(json.dumps(dict(os.environ))),
    "where": lambda _given: text(os.getcwd()),
    "die": die,
    "a name/with dots.and more": lambda _given: text("called by its own name"),
}


async def grow(context: Any, arguments: dict[str, Any]) -> types.CallToolResult:
    TOOLS.append(tool(arguments["name"]))
    await context.session.send_tool_list_changed()
    return text("grown")


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    if params.name in SIMPLE:
        return SIMPLE[params.name](arguments)
    match params.name:
        case "grow":
            return await grow(context, arguments)
        case "slow":
            return await slow(arguments)
        case "ask_back":
            return await ask_back(context)
    raise MCPError(code=types.INVALID_PARAMS, message=f"no tool {params.name}")


server = Server("official", on_list_tools=list_tools, on_call_tool=call_tool)


async def over_stdio() -> None:
    async with stdio_server() as (read, write):
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        await server.run(read, write, options)


def over_http(*, json_response: bool) -> None:
    app = server.streamable_http_app(json_response=json_response, stateless_http=False)
    bound = socket.create_server(("127.0.0.1", 0))
    print(bound.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[bound])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        anyio.run(over_stdio)
    else:
        over_http(json_response=sys.argv[1] == "http-json")
