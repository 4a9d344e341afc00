"""Vendors' models behind the provider port: four thin wires, one driver (OAP-131..133, OAP-154).

`open_wire` is all that others need, with the `Offering` it is given. The HTTP client is imported with the first wire
that is opened: whoever only describes offerings does not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sayso.control.provider.wires.offering import Credential, Limits, Offering
from sayso.control.provider.wires.waiting import Waiting
from sayso.core.clock import Clock, SystemClock
from sayso.core.ids import Ids, SystemIds

if TYPE_CHECKING:
    from sayso.control.provider.wires.driver import WireProvider

__all__ = ("Credential", "Limits", "Offering", "Waiting", "open_wire")


def open_wire(
    offering: Offering,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    tell: Callable[[Waiting], None] | None = None,
) -> WireProvider:
    """A provider for this offering. Use it in `async with`, or close it: it keeps connections open. `tell` hears of
    each wait before a repeated attempt. Refused `config_invalid`, `credential_in_headers` or `header_not_allowed`.
    """
    from sayso.control.provider.wires.driver import WireProvider  # noqa: PLC0415 - the HTTP client is slow to import

    return WireProvider(offering, clock=clock or SystemClock(), ids=ids or SystemIds(), tell=tell)
