"""The workspace of one session as a tool source: six tools, previews of three, one call at a time.

It remembers what each file was when it was last read here, so that nothing is changed unseen, and what a person was
shown of a change, so that nothing else is done. Everything that blocks runs in a thread; a process that was started is
stopped when its call is cancelled, and with the session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import anyio
from anyio import to_thread

from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolDone, ToolOutcome, ToolSpec
from sayso.control.loop.permitting import Preview, plain_preview, shown
from sayso.control.workspace.arguments import (
    EditArguments,
    GlobArguments,
    GrepArguments,
    ReadArguments,
    ShellArguments,
    WriteArguments,
    read_arguments,
    tool_specs,
)
from sayso.control.workspace.bubblewrap import GitSettings
from sayso.control.workspace.changing import Change, apply, plan_edit, plan_write
from sayso.control.workspace.denial import cannot
from sayso.control.workspace.diffs import told_path
from sayso.control.workspace.reading import digest, read_part
from sayso.control.workspace.running import Outcome, Running
from sayso.control.workspace.seeking import search_result, start_search
from sayso.control.workspace.shelling import Surroundings, describe_shell, shell_preview, shell_result, start_shell
from sayso.core.refusal import Refused

__all__ = ("WorkspaceSource",)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a person was shown of a change: what the file was, and what it would become."""

    path: str
    seen: bytes | None
    becomes: bytes


class WorkspaceSource:
    """Implements `PreviewsCalls` over one root."""

    id = "workspace"

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._root = surroundings.root
        self._specs = tool_specs(describe_shell(is_sandboxed=surroundings.sandbox is not None))
        self._read: dict[str, bytes] = {}
        self._shown: dict[str, _Shown] = {}
        self._running: set[Running] = set()
        self._turn = anyio.Lock()
        # Of its own: commands that take long in many sessions must not take the threads that everybody shares.
        self._thread = anyio.CapacityLimiter(1)
        self._is_closed = False
        self._acts = {
            "Read": self._do_read,
            "Write": self._do_change,
            "Edit": self._do_change,
            "Shell": self._do_shell,
            "Glob": self._do_search,
            "Grep": self._do_search,
        }

    def tools(self) -> Sequence[ToolSpec]:
        return self._specs

    async def call(self, call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        """The result. Refused: what the tool refuses, `unknown_tool`."""
        act = self._acts.get(call.name)
        if act is None:
            raise Refused.because("unknown_tool", f"there is no tool named {call.name}")
        async with self._turn:
            self._verify_open()
            return await act(call)

    async def preview(self, call: ToolCall) -> Preview:
        """A change as its diff, a command whole. Refused: whatever the call itself would be refused for."""
        async with self._turn:
            self._verify_open()
            if call.name in ("Write", "Edit"):
                return await self._preview_change(call)
            if call.name == "Shell":
                return shell_preview(self._surroundings, read_arguments(call, ShellArguments))
        return plain_preview(call)

    async def abandon(self, call: ToolCall) -> None:
        self._shown.pop(call.tool_call_id, None)

    async def close(self) -> None:
        """Ends what still runs, waits until it has, and lets go of the root."""
        self._is_closed = True
        for running in self._running:
            running.stop()
        with anyio.CancelScope(shield=True):
            async with self._turn:
                self._root.close()

    def _verify_open(self) -> None:
        if self._is_closed:
            raise cannot("closed", "The workspace was closed with its session", place="$")

    # --- files ---

    async def _do_read(self, call: ToolCall) -> ToolOutcome:
        arguments = read_arguments(call, ReadArguments)
        text, path, seen = await _in_thread(lambda: read_part(self._root, arguments))
        self._read[path] = seen
        return ToolDone(text)

    async def _preview_change(self, call: ToolCall) -> Preview:
        change = await self._plan(call)
        self._shown[call.tool_call_id] = _Shown(change.path, change.seen, digest(change.data))
        verb = "Create" if change.seen is None else "Replace" if call.name == "Write" else "Change"
        text = await _in_thread(lambda: shown(change.diff))
        return Preview(f"{verb} {shown(told_path(change.path))}", text)

    async def _do_change(self, call: ToolCall) -> ToolOutcome:
        was_shown = self._shown.pop(call.tool_call_id, None)
        change = await self._plan(call)
        if was_shown is not None and was_shown != _Shown(change.path, change.seen, digest(change.data)):
            raise cannot(
                "changed_since_shown",
                f"{change.said} changed after the person was shown what would become of it",
                help="Nothing was written. Read it again, then try again.",
            )
        await _in_thread(lambda: apply(self._root, change))
        self._read[change.path] = digest(change.data)
        result: dict[str, object] = {"path": change.path, "diff": await _in_thread(lambda: change.diff)}
        if call.name == "Edit":
            result["replaced"] = change.count
        else:
            result["created"] = change.seen is None
        return ToolDone(result)

    async def _plan(self, call: ToolCall) -> Change:
        if call.name == "Write":
            writes = read_arguments(call, WriteArguments)
            change = await _in_thread(lambda: plan_write(self._root, writes))
        else:
            edits = read_arguments(call, EditArguments)
            change = await _in_thread(lambda: plan_edit(self._root, edits))
        known = self._read.get(change.path)
        if call.name == "Write" and change.seen is not None and known is None:
            raise cannot("not_read", f"{change.said} exists and was not read in this session", help="Read it first.")
        if known is not None and change.seen is not None and known != change.seen:
            raise cannot("changed", f"{change.said} changed since it was last read", help="Read it again.")
        return change

    # --- processes ---

    async def _do_shell(self, call: ToolCall) -> ToolOutcome:
        arguments = read_arguments(call, ShellArguments)
        settings = await _in_thread(lambda: GitSettings(self._root))
        outcome = await self._run(await _in_thread(lambda: start_shell(self._surroundings, arguments)))
        removed = await _in_thread(settings.restore) if self._surroundings.sandbox is not None else ()
        result, is_error = shell_result(outcome, arguments, removed)
        return ToolDone(result, is_error=is_error)

    async def _do_search(self, call: ToolCall) -> ToolOutcome:
        arguments: GlobArguments | GrepArguments
        arguments = read_arguments(call, GrepArguments) if call.name == "Grep" else read_arguments(call, GlobArguments)
        seconds = self._surroundings.search_seconds
        outcome = await self._run(start_search(self._root, arguments, seconds, self._surroundings.clock))
        return ToolDone(await _in_thread(lambda: search_result(outcome, seconds)))

    async def _run(self, running: Running) -> Outcome:
        """Runs it in a thread. Cancelled, it is stopped at once, and the cancellation goes on when it has ended."""
        self._running.add(running)
        if self._is_closed:  # while it was made ready
            running.stop()
        outcomes: list[Outcome | Refused] = []
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_finish, running, outcomes, tasks.cancel_scope, self._thread)
                try:
                    await anyio.sleep_forever()
                finally:
                    running.stop()
        finally:
            self._running.discard(running)
        if isinstance(outcomes[0], Refused):
            raise outcomes[0]
        return outcomes[0]


async def _finish(
    running: Running, outcomes: list[Outcome | Refused], scope: anyio.CancelScope, thread: anyio.CapacityLimiter
) -> None:
    """Runs to the end whatever happens around it, then ends the wait for it. A refusal is an outcome here: raised in a
    group of tasks it would come out wrapped.
    """
    with anyio.CancelScope(shield=True):
        try:
            outcomes.append(await to_thread.run_sync(running.run, limiter=thread))
        except Refused as refused:
            outcomes.append(refused)
    scope.cancel()


async def _in_thread(act: Callable[[], T]) -> T:
    """Whole or not at all: a thread is not left alone when its call is cancelled."""
    return await to_thread.run_sync(act)
