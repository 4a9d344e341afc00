"""Every capability key this build knows: what advertising it promises, and who serves it here (OAP-018, OAP-219).

The names are the specification's where it has one. A reader ignores a key it does not know; a key of ours that is in
nobody's table would promise what nobody can look up, so `sayso check` compares this one with what is advertised and
used. A pack's keys are the pack's.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ("FEATURES", "Feature")


@dataclass(frozen=True, slots=True)
class Feature:
    """One row."""

    key: str
    promise: str


def _rows(*rows: Feature) -> dict[str, Feature]:
    return {row.key: row for row in rows}


FEATURES: dict[str, Feature] = _rows(
    # Discovery and sessions.
    Feature("protocol.initialize", "version and profile are agreed on"),
    Feature("capabilities", "the descriptor is told, under its revision"),
    Feature("session.open", "sessions open"),
    Feature("session.open.subscribe", "an open may bring its first message and take the events with it"),
    Feature("session.open.reopen", "a session that was closed is loaded again under its id"),
    Feature("session.state", "the state is told when asked for"),
    Feature("session.reasoning", "an open may set a reasoning level; `modes` says when"),
    Feature("session.compaction.policy", "an open may say when history is summarized; `modes` says when"),
    Feature("session.model.switch", "the session's model changes for later runs"),
    Feature("session.compact", "history is summarized when asked for"),
    Feature("session.list", "stored sessions are listed; not built"),
    Feature("transcript.load", "stored messages are read; not built"),
    # Messages and their runs.
    Feature("session.message.submit", "a message is admitted as a run, or refused"),
    Feature("session.message.delivery.auto", "`auto` starts an idle session's run"),
    Feature(
        "session.message.delivery.queue", "a message is reserved behind others, up to `max_queued_runs_per_session`"
    ),
    Feature("session.message.delivery.steer", "a message joins the run under way"),
    Feature("session.message.delivery.btw", "a message starts a run beside it; not built"),
    Feature("run.streaming", "a run's events come while it is under way"),
    Feature("run.status", "`run.status.updated` tells where a run stands"),
    Feature("run.cancel", "a run is cancelled"),
    Feature("run.replay", "a run's events come again from a cursor"),
    Feature("run.resume", "an open may recover a run from a cursor; not built"),
    Feature("run.compaction", "compactions inside a run are told"),
    # Run controls.
    Feature("run.model_selection", "a submission may name its model; `scope` says for how long"),
    Feature("run.instructions", "a submission may bring instructions"),
    Feature("run.tool_selection", "a submission may choose among tools; `modes` says how"),
    Feature("run.structured_output", "a submission may ask for a result of a schema"),
    # Models and providers.
    Feature("models.list", "the session's models are listed"),
    Feature("action.providers.attach", "a provider is attached to the session"),
    # Tools, permissions and questions.
    Feature("action.tools", "calls of tools are told"),
    Feature("action.tools.list", "the session's tools are listed under their sources"),
    Feature("action.tools.execute", "tools are run here"),
    Feature("action.tools.provide", "an open may bring tools that the client runs"),
    Feature("action.tool_sources.attach", "an open may attach sources of tools"),
    Feature("action.permissions", "permissions are asked for"),
    Feature("permissions", "permissions are asked for"),
    Feature("permissions.updated_arguments", "a permission's answer may rewrite the arguments; not built"),
    Feature("user_input", "questions are asked"),
    # Signing in.
    Feature("auth.providers", "providers are listed with how they take a credential"),
    Feature("auth.login", "a login is started, told and cancelled"),
)
