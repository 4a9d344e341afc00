"""The three keys of a home: whose they are, and which are locked.

`principal` signs mandates and `ledger` signs checkpoints; both are locked on a real home. `agent` signs HTTP requests
and is not: what it signs is worth nothing without a mandate (docs/decisions/0004).
"""

from __future__ import annotations

from sayso.core.refusal import Refused
from sayso.proof.keys import PrivateKey
from sayso.store.vault import Vault

__all__ = ("AGENT", "LEDGER", "PRINCIPAL", "STATUS", "has_keys", "log_name", "make_keys", "status_key")

PRINCIPAL, LEDGER, AGENT = "principal", "ledger", "agent"
STATUS = "status"
_LOCKED = (PRINCIPAL, LEDGER)


def has_keys(vault: Vault) -> bool:
    """Whether the home has all three."""
    return {PRINCIPAL, LEDGER, AGENT} <= set(vault.names())


def log_name(vault: Vault) -> str:
    """The name of a home's receipt log: it is the checkpoints' origin too, so it holds the owner's thumbprint."""
    return f"sayso/{vault.public(LEDGER).thumbprint}"


def make_keys(vault: Vault, passphrase: str | None) -> None:
    """Makes the keys that are missing; with no passphrase they stay unlocked, as in the sample world.

    Refused: `passphrase_needed` when some keys of the home are locked already and others are to be made without.
    """
    have = set(vault.names())
    if passphrase is None and have & set(_LOCKED) and not {PRINCIPAL, LEDGER} <= have:
        raise Refused.because("passphrase_needed", "this home has locked keys", help="Give their passphrase.")
    for name in _LOCKED:
        if name not in have:
            vault.create(name, passphrase=passphrase)
    if AGENT not in have:
        vault.create(AGENT, passphrase=None)


def status_key(vault: Vault) -> PrivateKey:
    """The key that tells hosts what was taken back, made when it is first needed. It signs no mandate, so it is not
    locked: the key app answers while its owner sleeps.
    """
    if STATUS not in vault.names():
        vault.create(STATUS, passphrase=None)
    return vault.signer(STATUS)
