"""The loop's tools are the house's acts: every call of a tool goes through the kernel, and there is no other way in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from sayso.control.loop.contract import ToolAnswer, ToolAsks, ToolCall, ToolDone, ToolOutcome, ToolSpec
from sayso.governance.acts import Act, ActClass, Registry
from sayso.governance.consent import Answer
from sayso.governance.kernel import ActCall, Asks, Kernel

__all__ = ("GovernedTools",)


class GovernedTools:
    """A `ToolSource` over a kernel. `abandon` is called when a run ends before its calls did."""

    def __init__(
        self, name: str, registry: Registry, kernel: Kernel, *, actor: str, abandon: Callable[[], Awaitable[object]]
    ) -> None:
        self.id = name
        self._registry = registry
        self._kernel = kernel
        self._actor = actor
        self._abandon = abandon

    def tools(self) -> Sequence[ToolSpec]:
        return [_spec(act) for act in self._registry.acts()]

    async def call(self, call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        request = ActCall(call_id=call.tool_call_id, name=call.name, arguments=call.arguments, actor=self._actor)
        given = [Answer(granted=each.granted, document=each.document, reason=each.reason) for each in answers]
        outcome = await self._kernel.call(request, given)
        if isinstance(outcome, Asks):
            question = outcome.question
            return ToolAsks(
                title=question.title,
                text=question.text,
                document=question.document,
                media_type=question.media_type,
                kind=question.kind,
            )
        return ToolDone(outcome.result, is_error=outcome.is_error)

    async def abandon(self, call: ToolCall) -> None:
        await self._abandon()


def _spec(act: Act) -> ToolSpec:
    reads = act.act_class is ActClass.DISCLOSURE
    return ToolSpec(
        name=act.name,
        description=act.description,
        input_schema=act.input_schema(),
        annotations={"title": act.title, "readOnlyHint": reads, "openWorldHint": act.touches_others},
    )
