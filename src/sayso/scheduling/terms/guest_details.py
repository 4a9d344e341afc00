"""What a host needs to know of whom it expects: a name, a way to reach them, and who comes where that is another.

Spec section 10.5; SCH-207, SCH-208. They travel in the confirm and stand in no document that is signed, shown to others
or logged: the host's staff see them, and nobody else.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.scheduling.terms.wire import Words, whole

__all__ = ("ContactText", "GuestDetails", "PersonName")

PersonName = Words
"""What somebody is called."""

ContactText = Annotated[
    str, Meta(pattern=whole("([+]?[0-9][0-9 .()-]{3,30}|[!-?A-~]{1,64}@[!-?A-~]{1,190})"), max_length=255)
]
"""One telephone number or one e-mail address, and no words around it."""


class GuestDetails(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Whom to expect. `attendee` is who comes, where that is not the person who books: a child, a parent."""

    name: PersonName
    contact: ContactText | None = None
    attendee: PersonName | None = None
