"""A counter and a list of notes on the official Python SDK, for each session its own.

It runs on both generations of the SDK, in which the server's class and the place
where the port is given differ.
"""

import argparse
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

try:
    from mcp.server.mcpserver import Context, MCPServer
except ImportError:
    from mcp.server.fastmcp import Context, FastMCP

    MCPServer = None

HOST = "127.0.0.1"


@dataclass
class State:
    count: int = 0
    notes: list[str] = field(default_factory=list)


states: defaultdict[str | None, State] = defaultdict(State)


def state_of(ctx: Context) -> State:
    """The state of the session that a call belongs to; over stdio there is one."""
    request: Any = ctx.request_context.request
    if request is None:
        return states[None]
    return states[request.headers.get("mcp-session-id") or request.query_params["session_id"]]


def incr(by: int, ctx: Context) -> int:
    """Adds to the counter and returns it."""
    state = state_of(ctx)
    state.count += by
    return state.count


def get(ctx: Context) -> int:
    """Returns the counter."""
    return state_of(ctx).count


def note(text: str, ctx: Context) -> list[str]:
    """Adds a note and returns them all."""
    state = state_of(ctx)
    state.notes.append(text)
    return state.notes


def notes(ctx: Context) -> list[str]:
    """Returns the notes."""
    return state_of(ctx).notes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("transport", choices=["stdio", "sse", "streamable-http"])
    parser.add_argument("port", type=int, nargs="?", default=0)
    arguments = parser.parse_args()
    where = {} if arguments.transport == "stdio" else {"host": HOST, "port": arguments.port}
    server = MCPServer("counter", version="7.8.9") if MCPServer else FastMCP("counter", **where)
    for tool in (incr, get, note, notes):
        server.tool()(tool)
    server.run(arguments.transport, **(where if MCPServer else {}))


main()
