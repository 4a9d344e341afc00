"""The A2A door: what each operation does, between reading it and writing its answer (GTW-003, GTW-034).

A message asks for one act. What discloses runs at once and becomes a completed task; what changes something becomes a
proposal, and its id is the task's. A blocking send returns at once all the same: a person may take hours, and the task
can be read, followed or pushed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from sayso.core.ids import Ids
from sayso.core.refusal import Refused
from sayso.gateway.crossing import Answer, Crossing, Denial, Stream
from sayso.gateway.doors.a2a import shelf
from sayso.gateway.doors.a2a.codes import (
    invalid_params,
    status_of,
    task_not_cancelable,
    task_not_found,
    translate,
    unsupported_operation,
)
from sayso.gateway.doors.a2a.following import Following
from sayso.gateway.doors.a2a.read.asking import read_ask
from sayso.gateway.doors.a2a.read.request import is_rpc, read_request
from sayso.gateway.doors.a2a.shelf import Kept
from sayso.gateway.doors.a2a.states import of_disclosure, of_proposal, with_history
from sayso.gateway.doors.a2a.tasks import Found, Tasks
from sayso.gateway.doors.a2a.values import (
    ENDED,
    A2aTask,
    Asked,
    Cancel,
    ExtendedCard,
    Find,
    Listing,
    Message,
    PushConfig,
    PushDelete,
    PushFind,
    PushList,
    PushSet,
    Send,
    Subscribe,
)
from sayso.gateway.doors.a2a.write import answers
from sayso.gateway.doors.a2a.write.card import write_card
from sayso.gateway.doors.a2a.write.errors import write_denial
from sayso.gateway.gateway import Passage
from sayso.gateway.guard.rules.limits import Limits
from sayso.gateway.listening import MayListen
from sayso.gateway.offered import offered
from sayso.governance.acts import ActClass
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Proposal
from sayso.net.fetch import Fetcher
from sayso.store.unit import Unit

__all__ = ("A2aDoor",)

CardUrl = Callable[[Crossing], str]


class A2aDoor:
    """The door `a2a`. `url` gives the address of the JSON-RPC binding as the caller knows it, `listener` who says of a
    request's key whether it may still be answered.
    """

    name = "a2a"

    def __init__(
        self,
        *,
        tasks: Tasks,
        following: Following,
        fetcher: Fetcher,
        owner: str,
        ids: Ids,
        limits: Limits,
        listener: Callable[[Crossing], MayListen],
        url: CardUrl,
        version: str,
    ) -> None:
        self._tasks = tasks
        self._following = following
        self._fetcher = fetcher
        self._owner = owner
        self._ids = ids
        self._limits = limits
        self._listener = listener
        self._url = url
        self._version = version

    def deny(self, crossing: Crossing, denial: Denial) -> Answer:
        """A denial in the shape of the binding it came by."""
        return write_denial(crossing, denial, self._limits)

    async def answer(self, passage: Passage) -> Answer | Stream:
        """Answers a request; what is refused is refused under A2A's own name for it, where there is one."""
        try:
            asked = read_request(passage.crossing, self._limits)
            return await self._perform(passage, asked)
        except Refused as refused:
            why = translate(refused.refusal)
            return await passage.refuse(why, status=status_of(why.code, by_rpc=is_rpc(passage.crossing)))

    async def _perform(self, passage: Passage, asked: Asked) -> Answer | Stream:
        agent, call = passage.agent.id, asked.call
        match call:
            case Send():
                return await self._send(passage, asked, call)
            case Find():
                found = await self._tasks.find(agent, call.task)
                answer = answers.write_task(asked, with_history(found.task, call.history))
            case Listing():
                answer = answers.write_page(asked, await self._tasks.list(agent, call))
            case Cancel():
                return await self._cancel(passage, asked, call)
            case Subscribe():
                return await self._subscribe(passage, asked, call)
            case ExtendedCard():
                acts = offered(passage.governor.registry.acts(), passage.agent.scopes)
                answer = answers.write_result(asked, write_card(self._url(passage.crossing), self._version, acts))
            case _:
                return await self._push(passage, asked, call)
        return await passage.settle(answer, about=asked.method)

    # -- messages

    async def _send(self, passage: Passage, asked: Asked, call: Send) -> Answer | Stream:
        if call.message.task is not None:
            await self._refuse_reply(passage.agent.id, call)
        if call.push is not None:
            self._fetcher.admit(call.push.url)
        ask = read_ask(call.message, call.place, self._limits)
        act, _ = passage.governor.registry.find(ask.act)
        context = call.message.context or self._ids.new("ctx")
        if act.act_class is ActClass.EXECUTION:
            prepared = passage.propose(ask.act, ask.arguments, place=ask.place, context=context)
            task = of_proposal(prepared.proposal, _placed(call, prepared.id, context))
            effect = partial(self._keep, passage.agent.id, asked, call, task, None)
            answer = self._write_sent(asked, call, task)
            sent = await passage.settle(answer, about=asked.method, prepared=[prepared], effect=effect)
            return self._stream(passage, asked, answer, sent, prepared.proposal) if call.is_streamed else sent
        disclosed = await passage.disclose(ask.act, ask.arguments, place=ask.place)
        id_ = self._ids.new("task")
        task = of_disclosure(
            id_, context, ask.act, disclosed.result, passage.now, _placed(call, id_, context),
            is_error=disclosed.is_error,
        )  # fmt: skip
        effect = partial(self._keep, passage.agent.id, asked, call, task, disclosed.result)
        answer = self._write_sent(asked, call, task)
        sent = await passage.settle(answer, about=asked.method, disclosed=[disclosed], effect=effect)
        return self._stream(passage, asked, answer, sent, None) if call.is_streamed else sent

    async def _refuse_reply(self, agent: str, call: Send) -> None:
        """No task of ours is moved by a word of its agent: a person decides, or it is over."""
        found = await self._tasks.find(agent, call.message.task or "")
        if call.message.context not in (None, found.task.context):
            raise invalid_params("The task belongs to another context", f"{call.place}.contextId")
        if found.task.status.state in ENDED:
            raise unsupported_operation("The task is over", "Send a message without a task id.")
        raise unsupported_operation("The task waits for a person, not for a message", "Read it again, or cancel it.")

    def _keep(self, agent: str, asked: Asked, call: Send, task: A2aTask, result: object, unit: Unit) -> None:
        message = (task.history or ())[0]
        over = None if result is None else task
        kept = Kept(id=task.id, context=task.context, message=message, over=over)
        shelf.keep_task(unit, self._owner, agent, kept, str(task.metadata["act"]), result)  # type: ignore[arg-type]
        if call.push is not None:
            config = self._named(call.push, task.id)
            shelf.keep_push(unit, self._owner, agent, asked.version, config, 1)

    def _write_sent(self, asked: Asked, call: Send, task: A2aTask) -> Answer:
        shown = with_history(task, call.history)
        return answers.write_first_event(asked, shown) if call.is_streamed else answers.write_sent(asked, shown)

    # -- tasks

    async def _cancel(self, passage: Passage, asked: Asked, call: Cancel) -> Answer:
        agent = passage.agent.id
        found = await self._tasks.find(agent, call.task)
        proposal = found.proposal
        if proposal is None or proposal.state not in (ProposalState.PENDING, ProposalState.APPROVED):
            raise task_not_cancelable(found.task.status.state.value)
        taken_back = msgspec.structs.replace(
            proposal, state=ProposalState.WITHDRAWN, moves=proposal.moves + 1, changed_at=passage.now
        )
        answer = answers.write_task(asked, of_proposal(taken_back, found.message))

        def effect(unit: Unit) -> None:
            self._tasks.gate.withdraw_in(unit, call.task, agent)

        return await passage.settle(answer, about=asked.method, effect=effect)

    async def _subscribe(self, passage: Passage, asked: Asked, call: Subscribe) -> Answer | Stream:
        found = await self._tasks.find(passage.agent.id, call.task)
        if found.proposal is None or found.task.status.state in ENDED:
            raise unsupported_operation("The task is over", "Read it.")
        answer = answers.write_first_event(asked, found.task)
        sent = await passage.settle(answer, about=asked.method)
        return self._stream(passage, asked, answer, sent, found.proposal)

    def _stream(
        self, passage: Passage, asked: Asked, answer: Answer, sent: Answer, proposal: Proposal | None
    ) -> Answer | Stream:
        if sent is not answer:
            return sent
        if proposal is None:
            return sent  # over at its first event
        return Stream(head=sent, events=self._following.follow(asked, proposal, self._listener(passage.crossing)))

    # -- push configurations

    async def _push(self, passage: Passage, asked: Asked, call: PushSet | PushFind | PushList | PushDelete) -> Answer:
        agent = passage.agent.id
        task = call.config.task if isinstance(call, PushSet) else call.task
        found = await self._tasks.find(agent, task)
        configs = await self._tasks.pushes(agent, task)
        effect: Callable[[Unit], None] | None = None
        match call:
            case PushSet():
                config = self._admit(call.config, configs)
                answer = answers.write_push(asked, config)
                effect = partial(self._keep_push, agent, asked, config, found)
            case PushFind():
                answer = answers.write_push(asked, _pick(configs, call.id))
            case PushList():
                answer = answers.write_pushes(asked, configs)
            case PushDelete():
                answer = answers.write_nothing(asked)
                effect = partial(self._delete_push, agent, call)
        return await passage.settle(answer, about=asked.method, effect=effect)

    def _admit(self, config: PushConfig, configs: tuple[PushConfig, ...]) -> PushConfig:
        self._fetcher.admit(config.url)
        named = self._named(config, config.task)
        if len(configs) >= shelf.MOST_PUSHES and named.id not in {each.id for each in configs}:
            raise invalid_params(f"A task has at most {shelf.MOST_PUSHES} push configurations", "id")
        return named

    def _named(self, config: PushConfig, task: str) -> PushConfig:
        return msgspec.structs.replace(config, task=task, id=config.id or self._ids.new("push"))

    def _keep_push(self, agent: str, asked: Asked, config: PushConfig, found: Found, unit: Unit) -> None:
        moves = found.proposal.moves if found.proposal else 1
        shelf.keep_push(unit, self._owner, agent, asked.version, config, moves)

    def _delete_push(self, agent: str, call: PushDelete, unit: Unit) -> None:
        shelf.delete_push(unit, self._owner, agent, call.task, call.id)


def _placed(call: Send, task: str, context: str) -> Message:
    return msgspec.structs.replace(call.message, task=task, context=context)


def _pick(configs: tuple[PushConfig, ...], id_: str | None) -> PushConfig:
    for each in configs:
        if id_ in (None, each.id):
            return each
    raise task_not_found()
