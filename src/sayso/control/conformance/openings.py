"""Units that an open elects, each in a session of its own, and signing in, which needs none."""

from __future__ import annotations

import re
from typing import Any

from sayso.control.conformance.checks import Failed, Skipped
from sayso.control.conformance.driving import drive
from sayso.control.conformance.talk import PARTICIPANT, Run, Talk

__all__ = ("client_tools", "compound_open", "logins", "reopen", "settings", "tool_sources")

TOOL = "conformance_echo"
SOURCE = "conformance-source"


async def settings(talk: Talk) -> str | None:
    """A level and a policy are taken as asked, or refused; never rounded, never dropped."""
    wanted: dict[str, Any] = {"reasoning_level": "low", "compaction_policy": {"kind": "off"}}
    keys = {"reasoning_level": "session.reasoning", "compaction_policy": "session.compaction.policy"}
    told = []
    for member, key in keys.items():
        request = talk.opening([key], **{member: wanted[member]})
        support = talk.feature(key)
        if support is None:
            told.append(await talk.unadvertised(request, key))
            continue
        if "session_open" not in (support.modes or ("session_open",)):
            continue
        state = (await talk.asked_for(request)).payload
        found = getattr(state, member)
        if found != (wanted[member] if member == "reasoning_level" else type(found)(**wanted[member])):
            raise Failed(f"opened with {member} {wanted[member]!r}, the session says {found!r}")
        told.append(f"`{key}` in force")
    return "; ".join(told)


async def compound_open(talk: Talk) -> str | None:
    """An open with a first message is all or nothing, and its answer names the run the message became."""
    key = "session.open.subscribe"
    request = talk.opening([key], subscribe=True, message=talk.message())
    if not talk.offers(key):
        return await talk.unadvertised(request, key)
    state = (await talk.asked_for(request)).payload
    named = [run for run in state.active_runs or () if request["id"] in (run.admitted_submit_requests or ())]
    if len(named) != 1:
        raise Failed(f"{len(named)} runs of the answer name the open's message")
    ended = await drive(talk, Run(named[0].run_id, state.session_id))
    return f"`{ended.type}`"


async def tool_sources(talk: Talk) -> str | None:
    """An attached source is published with the session, under its id."""
    key = "action.tool_sources.attach"
    support = talk.feature(key)
    kind = str(((support.limits or {}).get("transports") or ["local"])[0]) if support else "local"  # type: ignore[index]
    request = talk.opening([key], tool_sources=[{"id": SOURCE, "kind": kind}])
    if support is None:
        return await talk.unadvertised(request, key)
    if kind == "process":
        raise Skipped("only processes can be attached, and nothing may be started here")
    state = (await talk.asked_for(request)).payload
    if [source.kind for source in state.sources or () if source.id == SOURCE] != [kind]:
        raise Failed("the answer does not publish the attached source")
    return f"kind `{kind}`"


async def client_tools(talk: Talk) -> str | None:
    """A tool of ours joins the session; a call of it is handed to us, and ends with what we say."""
    key = "action.tools.provide"
    support = talk.feature(key)
    tool = {"name": TOOL, "input_schema": {"type": "object"}, "execution_owner": PARTICIPANT}
    sources = (talk.capabilities.sources or ()) if talk.capabilities is not None else ()
    request = talk.opening([key], tools=[{**tool, **({"source": sources[0].id} if sources else {})}])
    if support is None:
        return await talk.unadvertised(request, key)
    pattern = (support.limits or {}).get("name_pattern")
    if isinstance(pattern, str) and not re.fullmatch(pattern, TOOL):
        raise Skipped(f"names of tools have the form {pattern}")
    session_id = (await talk.asked_for(request)).payload.session_id
    run, _ = await talk.admit(talk.submission(session_id=session_id), session_id=session_id)
    await drive(talk, run)
    calls = [each for each in talk.host.seen.runs[run.id] if each.type == "action.call.requested"]
    ours = sum(each.payload.name == TOOL for each in calls)
    if talk.faults.get("client_tools"):
        raise Failed("; ".join(talk.faults["client_tools"]))
    return f"called {ours} times"


async def reopen(talk: Talk) -> str | None:
    """A conversation of a closed session is loaded under its id; an id nobody had is refused."""
    key = "session.open.reopen"
    unknown = talk.opening([key], reopen=True)
    if not talk.offers(key):
        return await talk.unadvertised(unknown, key)
    await talk.refused(unknown, "unknown_session")
    if not talk.host.port.binding.has_close:
        return "refused where no session had the id; this binding closes none"
    first = talk.opening()
    session_id = first["payload"]["session_id"]
    await talk.asked_for(first)
    await talk.host.port.close_session(session_id)
    again = talk.opening([key], reopen=True)
    again["payload"]["session_id"] = again["session_id"] = session_id
    state = (await talk.asked_for(again)).payload
    if not state.recovery or state.recovery.recovered is not True or state.active_runs:
        raise Failed("a reopened session says that it was recovered, and has no run")
    return "closed, and loaded again"


async def logins(talk: Talk) -> str | None:
    """Providers are listed with their ways to sign in; a flow that was started ends once."""
    talk.carried("auth.providers.request")
    listing = talk.request("auth.providers.request", {})
    starting = talk.request("auth.login.start.request", {"provider_id": "conformance-nobody"})
    told = []
    if not talk.offers("auth.providers"):
        told.append(await talk.unadvertised(listing, "auth.providers"))
    if not talk.offers("auth.login"):
        told.append(await talk.unadvertised(starting, "auth.login"))
    if told:
        return "; ".join(told)
    await talk.refused(starting, "unknown_provider")
    providers = (await talk.asked_for(listing)).payload.providers
    if not providers:
        raise Skipped("no provider is listed")
    return await _sign_in_and_out(talk, providers[0].id)


async def _sign_in_and_out(talk: Talk, provider: str) -> str:
    request = talk.request("auth.login.start.request", {"provider_id": provider})
    started = await talk.asked_for(request)
    flow = started.payload.flow_id
    cancelling = talk.request("auth.login.cancel.request", {"flow_id": flow})
    await talk.host.ask(cancelling)  # whether it was in time is the flow's to say
    ended = await talk.host.until(
        lambda: next(
            (each for each in talk.host.seen.flows.get(flow, ()) if each.type == "auth.login.completed"), None
        ),
        f"the end of login `{flow}`",
    )
    if talk.host.seen.flows[flow][0].place < started.place:
        raise Failed("an event of a login came before the answer that started it")
    return f"`{provider}`: {ended.payload.status}"
