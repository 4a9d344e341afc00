"""The weakest evidence: a plain yes in the agent protocol, for acts that touch nobody else (design, Consent, 4).

Control's implementation of governance's port. It speaks only for acts it was told of, and governance accepts its
evidence only for acts that touch nobody else, so a grant for anything more proves nothing even if it came from here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from sayso.core.canonical import canonical
from sayso.core.refusal import Refused
from sayso.governance.acts import Act
from sayso.governance.consent import Answer, Consent, Evidence, Question
from sayso.proof.hashes import sha256_b64u

__all__ = ("GRANT_MEDIA_TYPE", "GrantConsent")

GRANT_MEDIA_TYPE = "application/json"
_LONGEST_ARGUMENT = 200


class GrantConsent:
    """Asks for a plain yes to an act with exactly these arguments. `acts` gives the acts it may ask about."""

    def __init__(self, acts: Callable[[], Sequence[Act]], *, person: str) -> None:
        self._acts = acts
        self._person = person

    async def consent(
        self, act_name: str, arguments: msgspec.Struct, answers: Sequence[Answer]
    ) -> Consent | Question | None:
        """Evidence, the question, or None for an act that is not ours to ask about. Refused: `permission_denied`."""
        act = next((each for each in self._acts() if each.name == act_name), None)
        if act is None or act.touches_others:
            return None
        document = canonical({"act": act_name, "arguments": msgspec.to_builtins(arguments)})
        if not answers:
            return Question(
                kind="grant",
                title=act.title,
                text=f"{act.title}: {_said(arguments)}",
                document=document,
                media_type=GRANT_MEDIA_TYPE,
            )
        if not answers[-1].granted:
            raise Refused.because("permission_denied", f"{act.title}: the person said no")
        return Consent(
            by=self._person,
            evidence=Evidence.GRANT,
            subject_sha256=sha256_b64u(document),
            mode="human_present",
        )


def _said(arguments: msgspec.Struct) -> str:
    """The arguments on one line, long ones cut: what is granted is the whole document, hashed."""
    values = msgspec.to_builtins(arguments)
    return ", ".join(f"{name} {_cut(str(value))}" for name, value in values.items()) or "no arguments"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_ARGUMENT else f"{text[:_LONGEST_ARGUMENT]}…"
