"""What the binding owes besides: replay, lines that are wrong but readable, and no line of any other kind."""

from __future__ import annotations

from sayso.control.conformance.checks import Failed, Skipped
from sayso.control.conformance.host import Value
from sayso.control.conformance.talk import Run, Talk
from sayso.control.protocol.payloads.error import ErrorResponse

__all__ = ("broken_payload", "replay", "replay_refusals", "unknown_control", "unknown_type")


async def replay(talk: Talk) -> str | None:
    """A run's events come again from a cursor: the same ones, each once, in order; or a gap says what is kept."""
    run = talk.run
    if run is None or talk.terminal is None:
        raise Skipped("no run ended")
    told = [arrival.value for arrival in talk.host.seen.runs[run.id]]
    found = await _replay(talk, run, told, 0)
    middle = max(found, len(told) // 2)
    if middle < len(told):
        await _replay(talk, run, told, middle)
    return f"from {found} and from {middle} of {len(told)}"


async def _replay(talk: Talk, run: Run, told: list[Value], after: int) -> int:
    """The cursor that was served: `after`, or where what is kept begins."""
    again = talk.host.replaying(run.id)
    try:
        answer = await talk.host.control(_frame(talk, run.id, after))
        if answer["control"] == "replay.error" and answer.get("code") == "unsupported_control":
            raise Skipped("replay is not offered: `unsupported_control`")
        if answer["control"] == "replay.gap":
            oldest = _oldest(answer, after, told)
            talk.host.replayed(run.id)
            return await _replay(talk, run, told, oldest - 1)
        if (answer["control"], answer.get("run_id"), answer.get("after")) != ("replay.accepted", run.id, after):
            raise Failed(f"a replay of `{run.id}` after {after} was answered with {dict(answer)}")
        wanted = told[after:]
        await talk.host.until(lambda: True if len(again) >= len(wanted) else None, f"a replay of {len(wanted)} events")
        for before, now in zip(wanted, again, strict=False):
            if before != now:
                raise Failed(f"event {before.get('sequence')} came again as another: {_difference(before, now)}")
        if len(again) > len(wanted):
            raise Failed(f"{len(again)} events came again, where {len(wanted)} were told")
    finally:
        talk.host.replayed(run.id)
    return after


def _oldest(gap: Value, after: int, told: list[Value]) -> int:
    oldest, latest = gap.get("oldest_available"), gap.get("latest_available")
    if not isinstance(oldest, int) or gap.get("requested_after") != after or latest != len(told):
        raise Failed(f"a gap after {after} of {len(told)} events says {dict(gap)}")
    if not after + 1 < oldest <= len(told):
        raise Failed(f"a gap after {after} begins at {oldest}, of {len(told)} events")
    return oldest


def _difference(before: Value, now: Value) -> str:
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    return f"it differs in {', '.join(names)}"


async def replay_refusals(talk: Talk) -> str | None:
    """A cursor beyond the end and a run nobody knows are answered, and bring nothing."""
    if talk.run is None or talk.terminal is None:
        raise Skipped("no run ended")
    codes = []
    for run_id, after in ((talk.run.id, talk.run.read + 1000), ("conformance-no-such-run", 0)):
        answer = await talk.host.control(_frame(talk, run_id, after))
        if answer["control"] != "replay.error":
            raise Failed(f"a replay of `{run_id}` after {after} was answered with `{answer['control']}`")
        codes.append(str(answer.get("code")))
    return ", ".join(codes)


async def unknown_control(talk: Talk) -> str | None:
    """A control frame nobody knows is answered, and the stream goes on."""
    if not talk.host.port.binding.has_controls:
        raise Skipped("this binding has no control frames")
    answer = await talk.host.control({"control": "conformance.unknown", "id": talk.ids.new("ctl")})
    if (answer["control"], answer.get("code")) != ("replay.error", "unsupported_control"):
        raise Failed(f"an unknown control was answered with {dict(answer)}")
    return None


async def unknown_type(talk: Talk) -> str | None:
    """An envelope of a type nobody knows is refused under its id, and the stream goes on."""
    type_ = "dev.sayso.conformance.unknown.request"
    talk.carried(type_)
    return await _refused(talk, talk.request(type_, {"session_id": talk.session_id}))


async def broken_payload(talk: Talk) -> str | None:
    """A payload that does not have its shape is refused under its envelope's id, and the stream goes on."""
    request = talk.submission()
    return await _refused(talk, {**request, "payload": {**request["payload"], "delivery": 7}})


async def _refused(talk: Talk, request: Value) -> str | None:
    answer = await talk.host.ask(request, is_fault=True)
    if not isinstance(answer.payload, ErrorResponse):
        raise Failed(f"it was answered with `{answer.type}`")
    return f"`{answer.payload.error.code}`"


def _frame(talk: Talk, run_id: str, after: int) -> Value:
    return {
        "control": "replay",
        "id": talk.ids.new("ctl"),
        "session_id": talk.session_id,
        "run_id": run_id,
        "after": after,
    }
