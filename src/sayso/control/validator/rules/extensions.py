"""Types and members of loaded packs, gated like the core's own (OAP-033, OAP-035).

A request or a member elects its key; the answer is judged by what was owed. An event, or a success, on a key that is
not advertised is an endpoint using what it does not have. A well-formed request on an advertised key may be refused
with the codes its pack declared for it, and with no other.
"""

from __future__ import annotations

from sayso.control.validator.packs import PackType
from sayso.control.validator.rules.capabilities import Capabilities
from sayso.control.validator.rules.ladder import ELSEWHERE, leave_of
from sayso.control.validator.rules.refusals import error_of, is_success
from sayso.control.validator.rules.scene import Heard, Question, Scene
from sayso.control.validator.shape import Foreign

__all__ = ("hear_extension", "judge_extension", "judge_members")


def hear_extension(scene: Scene, heard: Heard) -> None:
    """An event of a pack's type."""
    kind = scene.packs.types.get(heard.envelope.type)
    if kind is None or kind.role != "event" or kind.capability is None or scene.in_hand is None:
        return
    if not scene.in_hand.offers(kind.capability):
        heard.add("unavailable_capability", f"`{kind.name}` comes from an endpoint that offers no `{kind.capability}`")


def judge_extension(scene: Scene, heard: Heard) -> None:
    """The answer to a request of a pack's type."""
    question = heard.question
    kind = None if question is None else scene.packs.types.get(question.envelope.type)
    if question is None or kind is None:
        return
    answer = scene.packs.types.get(heard.envelope.type)
    if heard.envelope.type != "error.response" and (answer is None or answer.replies_to != kind.name):
        heard.add("unmatched_response", f"`{kind.name}` is not answered by `{heard.envelope.type}`")
        return
    if kind.capability is None or heard.steady is None:
        return
    if _judge_gate(kind.capability, _leave(question), heard.steady, heard) or is_success(heard):
        return
    code, _ = error_of(heard)
    if code not in ELSEWHERE and code not in kind.refusals:
        heard.add("unhonoured_capability", _undeclared(kind, code))


def _undeclared(kind: PackType, code: str) -> str:
    return f"`{kind.capability}` is advertised and `{code}` is no refusal its pack declares for `{kind.name}`"


def judge_members(scene: Scene, heard: Heard) -> bool:
    """The answer to a core request that carried a pack's members; True when one of their gates decides it."""
    question = heard.question
    if question is None or heard.steady is None:
        return False
    members = scene.packs.elected(question.envelope.type, question.value)
    keys = sorted({member.capability for member in members if member.capability is not None})
    return any(_judge_gate(key, _leave(question), heard.steady, heard) for key in keys)


def _leave(question: Question) -> frozenset[str]:
    payload = question.envelope.payload
    if isinstance(payload, Foreign):
        allowed = payload.members.get("allow_degraded_features")
        return (
            frozenset(name for name in allowed if isinstance(name, str)) if isinstance(allowed, list) else frozenset()
        )
    return leave_of(payload)


def _judge_gate(key: str, leave: frozenset[str], capabilities: Capabilities, heard: Heard) -> bool:
    """Whether the key's rung decides this answer; a fault is noted when it decides otherwise."""
    if not capabilities.offers(key):
        code, diagnostic, reason = "unsupported_feature", "unavailable_capability", "unadvertised"
    elif capabilities.level(key) == "degraded" and key not in leave:
        code, diagnostic, reason = "capability_degraded", "degraded_without_optin", ""
    else:
        return False
    if is_success(heard):
        heard.add(diagnostic, f"`{key}` does not allow this request, but it was granted")
        return True
    said, details = error_of(heard)
    is_named = said == code and details.get("feature") == key
    is_named = is_named and reason in ("", details.get("reason"))
    if said not in ELSEWHERE and not is_named:
        heard.add(diagnostic, f"the refusal owed here is `{code}` naming `{key}`")
    return True
