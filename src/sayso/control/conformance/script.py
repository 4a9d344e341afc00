"""The script: every check in its order, and what each one means. docs/spec/control.md prints this table."""

from __future__ import annotations

from sayso.control.conformance import core, openings, robust, units
from sayso.control.conformance.checks import Check, Failed, Skipped
from sayso.control.conformance.ends import Act, Ends, ends_clean
from sayso.control.conformance.port import Launcher
from sayso.control.conformance.talk import Talk
from sayso.control.validator.judging import judge

__all__ = ("UNITS", "script")

UNITS: dict[str, tuple[str, tuple[str, ...]]] = {
    "tools": ("tools", ("action.tools.list",)),
    "permissions": ("permission", ("permissions", "action.permissions")),
    "user-input": ("user_input", ("user_input",)),
    "run-controls": ("run_controls", ()),
    "tool-sources": ("tool_sources", ("action.tool_sources.attach",)),
    "control-tools": ("client_tools", ("action.tools.provide",)),
    "models": ("models", ("models.list",)),
    "queue": ("queue", ("session.message.delivery.queue",)),
    "steer": ("steer", ("session.message.delivery.steer",)),
    "compaction": ("compaction", ("session.compact",)),
    "compound-open": ("compound_open", ("session.open.subscribe",)),
    "auth": ("auth", ("auth.login",)),
}
"""Each unit an implementation may claim, the check that drives it, and the keys of which one is advertised.

Run controls need none: refusing all four by name is the discipline.
"""

_SESSION = ("open",)
_RUN = ("terminal",)


def script(launcher: Launcher) -> tuple[Check, ...]:
    """All checks."""
    ends = Ends(launcher)
    return (
        Check("initialize", "version 0.1 of the profile is agreed on", core.initialize),
        Check("capabilities", "the descriptor comes with its revision", core.capabilities),
        Check("open", "a session opens under the id asked for", core.open_session, ("capabilities",)),
        Check("submit", "a message is admitted as a started run", core.submit, _SESSION),
        Check("terminal", "the run, its gates answered, comes to one end", core.run_ends, ("submit",)),
        Check("permission", "a permission's answer is taken", _gate("permission"), derived=True),
        Check("user_input", "a question's answer is taken", _gate("user_input"), derived=True),
        Check("wrong_responder", "nobody else may answer", _gate("wrong_responder"), derived=True),
        Check("second_answer", "nothing is answered twice", _gate("second_answer"), derived=True),
        Check(
            "replay", "a run's events come again from a cursor, the same ones, or a gap is told", robust.replay, _RUN
        ),
        Check(
            "replay_refusals",
            "a cursor beyond the end and an unknown run are answered",
            robust.replay_refusals,
            ("replay",),
        ),
        Check("unknown_control", "a control nobody knows is answered", robust.unknown_control, ("capabilities",)),
        Check("unknown_type", "a type nobody knows is refused under its id", robust.unknown_type, _SESSION),
        Check("broken_payload", "a broken payload is refused under its id", robust.broken_payload, _SESSION),
        Check("state", "the state is true, and repeats the pin", core.state, _RUN),
        Check("state_live", "the state names the run that waits", core.state_live, _RUN),
        Check("stale_revision", "a stale pin is refused, with both revisions", core.stale_revision, _SESSION),
        Check("discovery", "discovery ignores a stale pin", core.discovery_ignores_pins, ("capabilities",)),
        Check("cancel_late", "a cancel of a run that ended is refused", core.cancel_late, _RUN),
        Check("cancel", "a run is cancelled, its answer first; or it says that it cannot be", core.cancel, _RUN),
        Check("decline", "a question that allows it is cancelled", core.decline, _RUN),
        Check("delivery", "a delivery that is not advertised is refused by name", core.unadvertised_delivery, _SESSION),
        Check("run_controls", "run controls: executed, or refused by key", units.run_controls, _RUN),
        Check("model_selection", "a listed model is taken, another is not found", units.unlisted_model, _RUN),
        Check("models", "the catalog of models is stable within its revision", units.models, _SESSION),
        Check("tools", "the catalog of tools is the session's", units.tools, _SESSION),
        Check("queue", "reservations in their turn, up to the bound", units.queue, ("cancel",)),
        Check("steer", "a steer is settled once, before its run ends", units.steer, _RUN),
        Check("compaction", "a compaction is a run, told by one pair of events", units.compaction, _RUN),
        Check("model_switch", "the session's model becomes another", units.model_switch, _RUN),
        Check("provider_attach", "a provider nobody has is refused", units.provider_attach, _SESSION),
        Check("settings", "settings of an open are in force as asked", openings.settings, _SESSION),
        Check("compound_open", "an open with a message names its run", openings.compound_open, _RUN),
        Check("tool_sources", "an attached source is published", openings.tool_sources, _SESSION),
        Check("client_tools", "a call of our tool is handed to us", openings.client_tools, _RUN),
        Check("reopen", "a closed session is loaded again", openings.reopen, _SESSION),
        Check("auth", "a login that was started ends once", openings.logins, ("capabilities",)),
        Check("exit_clean", "end of input: exit code 0", ends_clean, ("capabilities",)),
        Check("no_invented_end", "a run in flight at the end of input gets no end", ends.in_flight, _RUN),
        Check("exit_signal", "SIGTERM is the end of input", ends.signalled, ("capabilities",)),
        Check("exit_malformed", "a line that is no JSON ends it, not with 0", ends.malformed, ("capabilities",)),
        Check("exit_unaddressed", "an envelope without an id ends it, not with 0", ends.unaddressed, ("capabilities",)),
        Check("lines", "every line is an envelope or a control frame", _lines, derived=True),
        Check("trace", "the validator finds nothing in the whole trace", _trace, derived=True),
    )


def _gate(name: str) -> Act:
    async def act(talk: Talk) -> str | None:
        if faults := talk.faults.get(name):
            raise Failed("; ".join(faults))
        asked = sum(talk.asked.values()) if name in ("wrong_responder", "second_answer") else talk.asked.get(name, 0)
        if not asked:
            raise Skipped("the run did not ask")
        return f"{asked} asked"

    return act


async def _lines(talk: Talk) -> str | None:
    if talk.host.seen.strays:
        raise Failed("; ".join(talk.host.seen.strays[:3]))
    return None


async def _trace(talk: Talk) -> str | None:
    """Every envelope that was sent and came, judged by the validator of `sayso validate`."""
    if not talk.host.trace:
        raise Skipped("nothing was sent")
    if twice := talk.host.surplus():
        raise Failed(f"request `{twice[0]}` was answered more than once")
    report = judge(b"\n".join(talk.host.trace))
    if not report.valid:
        said = "; ".join(f"{each.code} at envelope {each.index}: {each.message}" for each in report.diagnostics[:5])
        more = len(report.diagnostics) + report.left_out - 5
        raise Failed(f"{said}{f'; and {more} more' if more > 0 else ''}")
    return f"{report.envelopes} envelopes"
