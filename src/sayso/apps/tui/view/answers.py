"""What a person answered to a question at the terminal."""

from __future__ import annotations

from dataclasses import dataclass, field

from sayso.control.protocol.payloads.interaction import UserAnswer

__all__ = ("Declined", "Given", "PanelAnswer", "Permitted")


@dataclass(frozen=True, slots=True)
class Permitted:
    """Yes or no. `passphrase` is what opens the keys, where the person was asked for it; it is never printed."""

    granted: bool
    passphrase: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Given:
    """Answers to questions that are no permission, one for each that was answered."""

    answers: tuple[UserAnswer, ...]


@dataclass(frozen=True, slots=True)
class Declined:
    """The person will not answer."""


PanelAnswer = Permitted | Given | Declined
