"""The checks every endpoint owes: discovery, a session, one run with its gates to its end, state, pins and cancel."""

from __future__ import annotations

from sayso.control.conformance.checks import Failed, Skipped
from sayso.control.conformance.driving import Declining, Provoking, drive, is_terminal, is_waiting
from sayso.control.conformance.talk import PARTICIPANT, Talk, refused_as
from sayso.control.protocol.envelope import AGENT_PROFILE, VERSION
from sayso.control.protocol.payloads.error import ErrorResponse

__all__ = (
    "cancel",
    "cancel_late",
    "capabilities",
    "decline",
    "discovery_ignores_pins",
    "initialize",
    "open_session",
    "run_ends",
    "stale_revision",
    "state",
    "state_live",
    "submit",
    "unadvertised_delivery",
)

STALE = "conformance-stale-revision"
_TOO_LATE = ("run_already_terminal", "run_terminal")
"""The endpoint's and the hub's name for it (OAP-014)."""


async def initialize(talk: Talk) -> str | None:
    """Version 0.1 and this profile are agreed on."""
    talk.carried("protocol.initialize.request")
    payload = {"protocol_versions": [VERSION], "profiles": [AGENT_PROFILE], "participant": {"id": PARTICIPANT}}
    answer = await talk.asked_for(talk.request("protocol.initialize.request", payload))
    return f"endpoint `{answer.payload.endpoint.id}`"


async def capabilities(talk: Talk) -> str | None:
    """The descriptor has a revision."""
    answer = await talk.asked_for(talk.request("capabilities.request", {}))
    talk.capabilities, talk.revision = answer.payload, str(answer.value["capability_revision"])
    offered = [key for key, support in (talk.capabilities.features or {}).items() if support.level != "unavailable"]
    return f"{len(offered)} features at `{talk.revision}`"


async def open_session(talk: Talk) -> str | None:
    """A session opens under the id that was asked for, with nothing under way."""
    request = talk.opening()
    answer = await talk.asked_for(request)
    wanted = request["payload"]["session_id"]
    if answer.payload.session_id != wanted:
        raise Failed(f"session `{wanted}` was opened as `{answer.payload.session_id}`")
    talk.session_id = wanted
    if talk.offers("models.list") and talk.offers("run.model_selection") and talk.model is None:
        await _choose_model(talk)
    return None


async def _choose_model(talk: Talk) -> None:
    """The endpoint's own default, else its first: it may refuse a submission that names none."""
    allowed = talk.allowed(["models.list"])
    payload = {"session_id": talk.session_id, **({"allow_degraded_features": allowed} if allowed else {})}
    listed = (await talk.asked_for(talk.request("models.request", payload))).payload.models
    chosen = next((each for each in listed if each.default is True), listed[0] if listed else None)
    talk.model = chosen.id if chosen is not None else None


async def submit(talk: Talk) -> str | None:
    """A message is admitted as a run, under a delivery that is not `auto` any more."""
    talk.run, answer = await talk.admit(talk.submission())
    admitted = answer.payload
    if (admitted.requested_delivery, admitted.effective_delivery, admitted.admission) != ("auto", "start", "started"):
        said = f"{admitted.requested_delivery}, {admitted.effective_delivery}, {admitted.admission}"
        raise Failed(f"an idle session admits `auto` as auto, start, started; not as {said}")
    return f"run `{talk.run.id}`"


async def run_ends(talk: Talk) -> str | None:
    """The run reaches one of its three ends, each gate answered on the way."""
    if talk.run is None:
        raise Skipped("no run was admitted")
    talk.terminal = await drive(talk, talk.run, Provoking())
    return f"`{talk.terminal.type}` after {talk.run.read} events"


async def state(talk: Talk) -> str | None:
    """What is true now: an idle session with no run under way, under the revision that was pinned."""
    request = talk.request("session.state.request", {"session_id": talk.session_id})
    found = (await talk.asked_for(request)).payload
    if found.session_id != talk.session_id:
        raise Failed(f"asked about `{talk.session_id}`, it tells of `{found.session_id}`")
    if found.active_run_id or found.active_runs:
        raise Failed("a run is listed as active, though all of them ended")
    if found.status != "idle":
        raise Failed(f"the session is `{found.status}` and not `idle`, though every run ended")
    return None


async def state_live(talk: Talk) -> str | None:
    """The state of a session whose run waits for somebody names that run, and lists it first."""
    run, _ = await talk.admit(talk.submission())
    if is_terminal(await drive(talk, run, until=is_waiting)):
        raise Skipped("the run ended before anybody could look")
    found = (await talk.asked_for(talk.request("session.state.request", {"session_id": talk.session_id}))).payload
    await drive(talk, run)
    listed = [each.run_id for each in found.active_runs or ()] or [found.active_run_id]
    if (found.active_run_id, listed) != (run.id, [run.id]):
        raise Failed(f"run `{run.id}` waits, and the state names {found.active_run_id!r} and lists {listed}")
    return f"`{found.status}`"


async def stale_revision(talk: Talk) -> str | None:
    """A request for another revision is refused, with both revisions."""
    request = {**talk.submission(), "capability_revision": STALE}
    error = await talk.refused(request, "stale_capabilities", is_fault=True)
    details = error.details or {}
    named = {details.get("expected_revision"), details.get("current_revision")}
    if named != {talk.revision, STALE}:
        raise Failed(f"the refusal's details name {sorted(map(str, named))}, not both revisions")
    return None


async def discovery_ignores_pins(talk: Talk) -> str | None:
    """Discovery cannot be blocked by a stale revision."""
    talk.carried("protocol.initialize.request")
    request = {**talk.request("capabilities.request", {}), "capability_revision": STALE}
    answer = await talk.host.ask(request, is_fault=True)
    if isinstance(answer.payload, ErrorResponse):
        raise Failed(f"`capabilities.request` with a stale pin was refused with `{answer.payload.error.code}`")
    return None


async def cancel_late(talk: Talk) -> str | None:
    """A cancel of a run that has ended is refused, and reaches no later run."""
    if talk.run is None or talk.terminal is None:
        raise Skipped("no run ended")
    if talk.terminal.type == "run.cancelled":
        raise Skipped("the run was cancelled, and a cancel may be repeated")
    payload = {"session_id": talk.session_id, "run_id": talk.run.id}
    codes = _TOO_LATE if talk.offers("run.cancel") else (*_TOO_LATE, "unsupported_feature")
    error = await talk.refused(talk.request("run.cancel.request", payload), *codes, is_fault=True)
    return f"`{error.code}`"


async def cancel(talk: Talk) -> str | None:
    """A run under way is cancelled: the answer first, then whichever end wins; or it is not offered, and says so."""
    run, _ = await talk.admit(talk.submission())
    reached = await drive(talk, run, until=is_waiting)
    request = talk.request("run.cancel.request", {"session_id": talk.session_id, "run_id": run.id})
    answer = await talk.host.ask(request)
    if isinstance(answer.payload, ErrorResponse):
        code = answer.payload.error.code
        ended = reached if is_terminal(reached) else await drive(talk, run)
        if code in _TOO_LATE and ended.place < answer.place:
            return "it ended first"
        if code == "unsupported_feature" and not talk.offers("run.cancel"):
            refused_as(answer.payload.error, "feature", "run.cancel")
            return "not advertised, and refused by name"
        raise Failed(f"a run under way could not be cancelled: {code}")
    if is_terminal(reached):
        return "it ended first"
    run.unmet = None  # a gate of a run that is being cancelled is not ours to answer any more
    ended = await drive(talk, run)
    if ended.type == "run.cancelled" and ended.place < answer.place:
        raise Failed("`run.cancelled` came before the answer to the cancel it confirms")
    return f"accepted, then `{ended.type}`"


async def decline(talk: Talk) -> str | None:
    """A question that allows it is cancelled instead of answered, and the run comes to its end all the same."""
    talk.need("user_input")
    run, _ = await talk.admit(talk.submission())
    gates = Declining()
    ended = await drive(talk, run, gates)
    if faults := talk.faults.get("decline"):
        raise Failed("; ".join(faults))
    if not gates.declined:
        raise Skipped("no question of the run allows it")
    return f"{gates.declined} declined, then `{ended.type}`"


async def unadvertised_delivery(talk: Talk) -> str | None:
    """An explicit delivery that is not advertised is refused by its name, never replaced by another."""
    told = []
    for mode in ("queue", "steer", "btw"):
        key = f"session.message.delivery.{mode}"
        if not talk.offers(key):
            await talk.unadvertised(talk.submission(mode), key)
            told.append(mode)
    if not told:
        raise Skipped("every mode is advertised")
    return f"refused by name: {', '.join(told)}"
