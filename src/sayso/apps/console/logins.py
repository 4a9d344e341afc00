"""Signing in to the console, staying signed in, and the end of it (GTW-060).

A sign-in is a random token in a cookie and the token's SHA-256 in a row. It ends when the person signs out, has done
nothing for half an hour, after twelve hours whatever they do, or when their user is removed: each request reads the row
and the user's present role. Tries are limited by name and by address before any password is looked at.
"""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta
from typing import Final

import msgspec
from sqlalchemy import bindparam, delete, or_, select, update

from sayso.apps.console.passwords import Passwords
from sayso.apps.console.users import Role, check_name, find_secret
from sayso.core.gcra import Limit
from sayso.core.ids import Ids
from sayso.core.refusal import Refused
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.proof.hashes import sha256_b64u
from sayso.store.buckets import Limited, charge
from sayso.store.tables import from_micros, micros
from sayso.store.tables.console import console_login, console_user
from sayso.store.unit import Reading, Store, Unit, insert, statement

__all__ = ("ABSOLUTE", "IDLE", "ConsoleLogin", "find_login", "sign_in", "sign_out", "touch")

IDLE: Final = timedelta(minutes=30)
ABSOLUTE: Final = timedelta(hours=12)
_TOUCHED_EVERY = timedelta(minutes=1)
_BY_NAME = Limit(timedelta(minutes=5), 5)
_BY_ADDRESS = Limit(timedelta(minutes=5), 20)

SIGNED_IN = declare("console.signed_in", "A person signed in to the console")
SIGNED_OUT = declare("console.signed_out", "A person signed out of the console")
NOT_SIGNED_IN = declare("console.sign_in_refused", "Somebody tried to sign in to the console and was refused")

_u, _l = console_user.c, console_login.c
_MINE = (_l.owner == bindparam("of"), _l.token_sha256 == bindparam("token"))
_FIND = statement(
    select(_l.name, _u.role, _l.started_us, _l.seen_us)
    .join(console_user, (_u.owner == _l.owner) & (_u.name == _l.name))
    .where(*_MINE)
)
_BEGIN = statement(insert(console_login))
_END = statement(delete(console_login).where(*_MINE))
_TOUCH = statement(update(console_login).where(*_MINE).values(seen_us=bindparam("seen")))
_TIDY = statement(
    delete(console_login).where(
        _l.owner == bindparam("of"), or_(_l.seen_us <= bindparam("idle"), _l.started_us <= bindparam("absolute"))
    )
)


class ConsoleLogin(msgspec.Struct, frozen=True, kw_only=True):
    """One sign-in in force. `token` is the cookie's value, of which everything secret to it is derived."""

    token: str
    name: str
    role: Role
    started: datetime
    seen: datetime

    @property
    def user_id(self) -> str:
        """As decisions and receipts name the person."""
        return f"console:{self.name}"

    @property
    def ends(self) -> datetime:
        """When it ends if nothing more is done."""
        return min(self.seen + IDLE, self.started + ABSOLUTE)


def find_login(view: Reading, owner: str, token: str) -> ConsoleLogin | None:
    """The sign-in that a token stands for, if it is in force now."""
    row = view.one(_FIND, {"of": owner, "token": sha256_b64u(token.encode())})
    if row is None:
        return None
    login = ConsoleLogin(token=token, name=row[0], role=row[1], started=from_micros(row[2]), seen=from_micros(row[3]))
    return login if view.now < login.ends else None


async def touch(store: Store, owner: str, login: ConsoleLogin, now: datetime) -> None:
    """The person did something: counted at most once a minute."""
    if now - login.seen < _TOUCHED_EVERY:
        return
    values = {"of": owner, "token": sha256_b64u(login.token.encode()), "seen": micros(now)}
    await store.unit(lambda unit: unit.execute(_TOUCH, values))


async def sign_in(
    store: Store, ledger: Ledger, ids: Ids, passwords: Passwords, owner: str, name: str, password: str, peer: str
) -> str:
    """The token of a new sign-in. Refused: `too_many_tries` with `details.retry_after`, `wrong_sign_in`."""
    await store.unit(lambda unit: _admit(unit, owner, name, peer))
    found = await store.reading(lambda view: find_secret(view, owner, name))
    if not await passwords.is_right(None if found is None else found[1], password) or found is None:
        # Only a name that exists is written down: people type passwords into the wrong field.
        body = {"user": name} if found is not None else {}
        await ledger.append(Draft(kind=NOT_SIGNED_IN, actor="console", body=body))
        raise _wrong()
    token, secret = ids.token(32), found[1]
    await store.unit(lambda unit: _begin(unit, ledger, owner, name, secret, token))
    return token


def _begin(unit: Unit, ledger: Ledger, owner: str, name: str, secret: str, token: str) -> None:
    now = unit.now
    still = find_secret(unit, owner, name)
    if still is None or still[1] != secret:
        raise _wrong()
    idle, absolute = micros(now - IDLE), micros(now - ABSOLUTE)
    unit.execute(_TIDY, {"of": owner, "idle": idle, "absolute": absolute})
    row = {
        "owner": owner,
        "token_sha256": sha256_b64u(token.encode()),
        "name": name,
        "started_us": micros(now),
        "seen_us": micros(now),
    }
    unit.execute(_BEGIN, row)
    ledger.append_in(unit, Draft(kind=SIGNED_IN, actor=f"console:{name}", body={"role": still[0]}))


async def sign_out(store: Store, ledger: Ledger, owner: str, login: ConsoleLogin) -> None:
    """Ends a sign-in; ending it twice is harmless."""

    def end(unit: Unit) -> None:
        if unit.execute(_END, {"of": owner, "token": sha256_b64u(login.token.encode())}):
            ledger.append_in(unit, Draft(kind=SIGNED_OUT, actor=login.user_id))
            unit.wake(f"console {owner}")

    await store.unit(end)


def _admit(unit: Unit, owner: str, name: str, peer: str) -> None:
    limits = [(f"console {owner} from {peer}", _BY_ADDRESS)]
    # Where no user can have such a name, the address is charged all the same.
    with contextlib.suppress(Refused):
        limits.append((f"console {owner} as {check_name(name)}", _BY_NAME))
    verdict = charge(unit, limits)
    if isinstance(verdict, Limited):
        raise Refused.because(
            "too_many_tries",
            f"Too many tries. Wait {verdict.retry_after} seconds",
            details={"retry_after": verdict.retry_after},
        )


def _wrong() -> Refused:
    return Refused.because("wrong_sign_in", "That name and password do not sign anybody in", help="Try again.")
