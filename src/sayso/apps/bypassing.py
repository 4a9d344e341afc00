"""The receipt of a session whose agent may change things without asking (OAP-157)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sayso.apps.keys import PRINCIPAL, log_name
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.scheduling.terms.identity import principal_urn
from sayso.store.open import open_store
from sayso.store.vault import Vault

if TYPE_CHECKING:
    from sayso.apps.home import Home
    from sayso.apps.house import House

__all__ = ("receipt_bypass",)

BYPASSED = declare(
    "agent.bypassed",
    "A session was opened in which its agent may change things without asking, but nothing of anybody else's.",
)


async def receipt_bypass(home: Home, house: House | None, session_id: str) -> None:
    """Writes it into the log of an open house, or of a home with keys whose house is not open."""
    body = {"session_id": session_id}
    if house is not None:
        await house.ledger.append(Draft(kind=BYPASSED, actor=house.principal, body=body))
        return
    vault = Vault(home.path, home.clock)
    with open_store(home.database, home.clock) as store:
        ledger = Ledger(store, log_name(vault), home.clock)
        await ledger.append(Draft(kind=BYPASSED, actor=principal_urn(vault.public(PRINCIPAL)), body=body))
