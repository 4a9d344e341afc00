"""What the constitution's judgement of one disclosure takes by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.measure import stopwatch

_TIMES = 2_000


def policy() -> dict[str, float]:
    """Microseconds of one judgement, and of it and the act together as `act` of the watch has it."""
    import msgspec

    from sayso.gateway.guard.rules.standing import SCOPES
    from sayso.governance.acts import Act, ActClass
    from sayso.governance.constitution.judge import Constitution

    class Text(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        text: str

    act = Act(
        name="echo", act_class=ActClass.DISCLOSURE, title="Echo", description="Says it again.", arguments=Text,
        touches_others=False,
    )  # fmt: skip
    constitution = Constitution.load()
    asked: Mapping[str, Any] = {"door": "mcp", "scopes": SCOPES, "names_secret": False}
    constitution.judge_disclosure("agent", act, **asked)
    with stopwatch() as watch:
        for _ in range(_TIMES):
            constitution.judge_disclosure("agent", act, **asked)
    return {"policy alone": 1e6 * watch.seconds / _TIMES}
