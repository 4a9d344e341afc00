"""Where one more hold is counted: in no pool, in an attester's lane, or with all newcomers (spec sections 8.3 and 8.7).

Judged on the way to every hold, whether somebody asked for it or a waitlist brought it.
"""

from __future__ import annotations

from dataclasses import replace

from sayso.scheduling.host import holds, reputation
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.holds import Use
from sayso.scheduling.rules.limits import Pool, check_counts
from sayso.scheduling.terms.attestation import vouchers
from sayso.scheduling.terms.mandate_checks import Mandate
from sayso.store.unit import Reading

__all__ = ("find_lane",)


def find_lane(view: Reading, desk: Desk, mandate: Mandate, use: Use) -> str | None:
    """The attester in whose lane one more hold finds room, None for one outside lanes. Refused: as `check_counts`."""
    if desk.profile.access == "contacts":
        # Whoever is admitted here is known: nobody is a newcomer (SCH-155).
        use = replace(use, is_proven=True)
    heard = None
    if not use.is_proven and mandate.claims.attestations:
        known = vouchers(mandate.claims.attestations, desk.trust, mandate.principal, view.now)
        heard = reputation.first_heard(view, desk.host, known)
    pool = check_counts(holds.count_pools(view, desk.host, use, heard), desk.profile.ceilings)
    return heard if pool is Pool.LANE else None
