"""The optional units: driven where they are advertised, and refused by name where they are not (OAP-004, OAP-048).

Whether what comes is consistent with what was promised is the validator's to say; here it is made to come.
"""

from __future__ import annotations

from typing import Any

from sayso.control.conformance.checks import Failed, Skipped
from sayso.control.conformance.driving import drive, is_terminal, is_waiting
from sayso.control.conformance.talk import CONTROLS, Run, Talk, refused_as

__all__ = (
    "compaction",
    "model_switch",
    "models",
    "provider_attach",
    "queue",
    "run_controls",
    "steer",
    "tools",
    "unlisted_model",
)

_VALUES: dict[str, Any] = {
    "model_id": "conformance-model",
    "instructions": "Be brief.",
    "tool_choice": {"mode": "none"},
    "output_schema": {"type": "object"},
}
NOBODY = "conformance-no-such-model"


async def run_controls(talk: Talk) -> str | None:
    """Each of the four controls that is not advertised is refused by its key; those that are go into one run."""
    elected: dict[str, Any] = {}
    refused = []
    for member, key in CONTROLS.items():
        support = talk.feature(key)
        if support is None:
            error = await talk.refused(talk.submission(**{member: _VALUES[member]}), "unsupported_feature")
            refused_as(error, "feature", key)
            refused_as(error, "reason", "unadvertised")
            refused.append(key)
        elif member != "model_id" and (member != "tool_choice" or "none" in (support.modes or ())):
            elected[member] = _VALUES[member]
    if elected:
        run, _ = await talk.admit(talk.submission(**elected))
        ended = await drive(talk, run)
        if "output_schema" in elected and ended.type == "run.completed" and not isinstance(ended.payload.result, dict):
            raise Failed("an admitted output schema asks for an object, and the run has no such result")
    return _told({"executed": [CONTROLS[member] for member in elected], "refused by name": refused})


async def unlisted_model(talk: Talk) -> str | None:
    """A model the catalog lists is taken and repeated; one it does not list is not found."""
    talk.need("run.model_selection")
    error = await talk.refused(talk.submission(model_id=NOBODY), "model_not_found")
    refused_as(error, "model_id", NOBODY)
    if talk.model is None:
        return None
    run, answer = await talk.admit(talk.submission())
    await drive(talk, run)
    if answer.payload.model_id != talk.model:
        raise Failed(f"a run with `{talk.model}` was admitted with {answer.payload.model_id!r}")
    return f"`{talk.model}`"


async def models(talk: Talk) -> str | None:
    """The session's catalog, the same both times within one revision."""
    payload = {"session_id": talk.session_id}
    if not talk.offers("models.list"):
        talk.carried("models.request")
        return await talk.unadvertised(talk.request("models.request", payload), "models.list")
    if allowed := talk.allowed(["models.list"]):
        payload["allow_degraded_features"] = allowed  # type: ignore[assignment]
    listed = [await talk.asked_for(talk.request("models.request", payload)) for _ in range(2)]
    first, second = (each.payload.models for each in listed)
    if first != second and not allowed:
        raise Failed("the catalog changed within one capability revision")
    return f"{len(first)} listed"


async def model_switch(talk: Talk) -> str | None:
    """The session's model becomes another listed one, and its state says so; or the switch is refused by name.

    The key belongs to the core: a descriptor without it says nothing, so a switch that works is no fault.
    """
    talk.carried("session.model.switch.request")
    chosen, is_other = await _model_to_switch_to(talk)
    request = talk.request("session.model.switch.request", {"session_id": talk.session_id, "model_id": chosen})
    if not talk.offers("session.model.switch"):
        return await talk.unadvertised(request, "session.model.switch")
    await talk.refused({**request, "payload": {**request["payload"], "model_id": NOBODY}}, "model_not_found")
    if not is_other:
        raise Skipped("no catalog lists another model")
    await talk.asked_for({**request, "id": talk.ids.new("host")})
    found = await talk.asked_for(talk.request("session.state.request", {"session_id": talk.session_id}))
    if found.payload.current_model_id != chosen:
        raise Failed(f"switched to `{chosen}`, the session's model is {found.payload.current_model_id!r}")
    return f"`{chosen}`"


async def _model_to_switch_to(talk: Talk) -> tuple[str, bool]:
    """A listed model, and whether it is another than the session's."""
    if not talk.offers("models.list"):
        return NOBODY, False
    allowed = talk.allowed(["models.list"])
    payload = {"session_id": talk.session_id, **({"allow_degraded_features": allowed} if allowed else {})}
    listed = (await talk.asked_for(talk.request("models.request", payload))).payload
    names = [each.id for each in listed.models]
    other = next((name for name in names if name != listed.current_model_id), None)
    return other or (names or [NOBODY])[0], other is not None


async def tools(talk: Talk) -> str | None:
    """The session's tools, each under a source, in the session's scope and in no other."""
    payload = {"session_id": talk.session_id}
    if not talk.offers("action.tools.list"):
        talk.carried("action.tools.list.request")
        return await talk.unadvertised(talk.request("action.tools.list.request", payload), "action.tools.list")
    if allowed := talk.allowed(["action.tools.list"]):
        payload["allow_degraded_features"] = allowed  # type: ignore[assignment]
    listed = (await talk.asked_for(talk.request("action.tools.list.request", payload))).payload
    if listed.session_id != talk.session_id:
        raise Failed(f"a session's tools were asked for, and {listed.session_id!r} has these")
    return f"{len(listed.tools)} listed"


async def queue(talk: Talk) -> str | None:
    """Behind a run, a message is reserved and starts in its turn; at the bound, and not below it, `run_active`."""
    talk.need("session.message.delivery.queue")
    limits = talk.capabilities.limits if talk.capabilities is not None else None
    bound = limits.max_queued_runs_per_session if limits else None
    if not bound:
        raise Failed("a queue is advertised without `max_queued_runs_per_session`")
    first, _ = await talk.admit(talk.submission())
    reached = await drive(talk, first, until=is_waiting)
    runs = []
    for _ in range(min(bound, 16)):
        run, answer = await talk.admit(talk.submission("queue"))
        admitted = answer.payload
        if (admitted.admission, admitted.effective_delivery) != ("queued", "queue"):
            raise Failed(f"`queue` was admitted as {admitted.admission}, {admitted.effective_delivery}")
        runs.append(run)
    is_full = not is_terminal(reached) and bound <= 16
    if is_full:
        await talk.refused(talk.submission("queue"), "run_active")
    await _cancel_reservation(talk, runs.pop() if not is_terminal(reached) else None)
    for run in (first, *runs):
        await drive(talk, run) if run is not first or not is_terminal(reached) else None
    return f"{len(runs) + 1} reserved{', and refused at the bound' if is_full else ''}"


async def _cancel_reservation(talk: Talk, run: Run | None) -> None:
    """A reservation behind a run that waits cannot have started: its cancel is its end."""
    if run is None:
        return
    payload = {"session_id": run.session_id, "run_id": run.id}
    if not (await talk.asked_for(talk.request("run.cancel.request", payload))).payload.accepted:
        raise Failed("a reservation could not be cancelled")
    if (ended := await drive(talk, run)).type != "run.cancelled":
        raise Failed(f"a cancelled reservation ended with `{ended.type}`")


async def steer(talk: Talk) -> str | None:
    """A message into a run under way is taken at a place of it, and settled once before its end."""
    talk.need("session.message.delivery.steer")
    run, _ = await talk.admit(talk.submission())
    reached = await drive(talk, run, until=is_waiting)
    if is_terminal(reached):
        raise Skipped("the run ended before anything could be steered into it")
    request = talk.submission("steer")
    answer = (await talk.asked_for(request)).payload
    if (answer.admission, answer.effective_delivery, answer.run_id) != ("steered", "steer", run.id):
        raise Failed(f"a steer was admitted as {answer.admission}, {answer.effective_delivery}, run {answer.run_id!r}")
    await drive(talk, run)
    settled = [
        arrival
        for arrival in talk.host.seen.runs[run.id]
        if arrival.type in ("run.steer.applied", "run.steer.dropped") and arrival.payload.request_id == request["id"]
    ]
    if len(settled) != 1:
        raise Failed(f"a steer was settled {len(settled)} times before its run ended")
    return f"`{settled[0].type}`"


async def compaction(talk: Talk) -> str | None:
    """A compaction is admitted as a run, and is told by one pair of events in it."""
    request = talk.request("session.compact.request", {"session_id": talk.session_id, "delivery": "auto"})
    if not talk.offers("session.compact"):
        talk.carried("session.compact.request")
        return await talk.unadvertised(request, "session.compact")
    if allowed := talk.allowed(["session.compact", "session.message.delivery.auto"]):
        request["payload"]["allow_degraded_features"] = allowed
    run, _ = await talk.admit(request)
    ended = await drive(talk, run)
    told = [arrival for arrival in talk.host.seen.runs[run.id] if arrival.type.startswith("run.compaction.")]
    if [arrival.type for arrival in told] != ["run.compaction.started", "run.compaction.ended"]:
        raise Failed(f"a compaction was told by {[arrival.type for arrival in told]}")
    if told[0].payload.reason != "requested":
        raise Failed(f"a compaction that was asked for has the reason `{told[0].payload.reason}`")
    return f"{told[1].payload.outcome}, then `{ended.type}`"


async def provider_attach(talk: Talk) -> str | None:
    """A provider nobody has is refused, or all of attaching by name."""
    talk.carried("session.provider.attach.request")
    attached = {"id": "conformance", "provider_id": "conformance-nobody"}
    request = talk.request("session.provider.attach.request", {"session_id": talk.session_id, "provider": attached})
    if not talk.offers("action.providers.attach"):
        return await talk.unadvertised(request, "action.providers.attach")
    return f"`{(await talk.refused(request)).code}`"


def _told(parts: dict[str, list[str]]) -> str:
    return "; ".join(f"{name}: {', '.join(values)}" for name, values in parts.items() if values)
