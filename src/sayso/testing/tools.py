"""A tool source that follows a script, and remembers what it was called with and told to let go of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from sayso.control.loop.contract import ToolAnswer, ToolAsks, ToolCall, ToolDone, ToolOutcome, ToolSpec

__all__ = ("ScriptedTools", "asking", "read_only")

Act = Callable[[ToolCall, Sequence[ToolAnswer]], Awaitable[ToolOutcome]]


class ScriptedTools:
    """Tools by name. `specs` may describe some of them; the others get an open schema."""

    def __init__(self, acts: Mapping[str, Act], *, specs: Sequence[ToolSpec] = (), id: str = "scripted") -> None:  # noqa: A002 - the port's own name
        self._acts = acts
        self._specs = {spec.name: spec for spec in specs}
        self.id = id
        self.calls: list[tuple[ToolCall, tuple[ToolAnswer, ...]]] = []
        self.abandoned: list[str] = []

    def tools(self) -> Sequence[ToolSpec]:
        plain = {name: ToolSpec(name, f"the tool {name}", {"type": "object"}) for name in self._acts}
        return list({**plain, **self._specs}.values())

    async def call(self, call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        self.calls.append((call, tuple(answers)))
        return await self._acts[call.name](call, answers)

    async def abandon(self, call: ToolCall) -> None:
        self.abandoned.append(call.tool_call_id)


def read_only(name: str) -> ToolSpec:
    """The description of a tool that changes nothing."""
    return ToolSpec(name, f"the tool {name}", {"type": "object"}, {"readOnlyHint": True})


def asking(*titles: str) -> Act:
    """A tool that asks these questions in turn, and is done once all were granted; a no ends it with an error."""

    async def act(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        if answers and not answers[-1].granted:
            return ToolDone({"error": "refused", "message": "the person said no"}, is_error=True)
        if len(answers) < len(titles):
            title = titles[len(answers)]
            return ToolAsks(title, f"{title}, in words", f"{title} document".encode(), "text/plain", "limits")
        return ToolDone({"documents": [answer.document for answer in answers]})

    return act
