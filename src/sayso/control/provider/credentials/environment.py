"""A credential out of the environment: the names of the provider's row, in their order (OAP-152)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sayso.control.provider.catalog.rows import Row
from sayso.control.provider.credentials.values import ApiKey, read_key

__all__ = ("FromEnvironment", "from_environment")


class FromEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """A credential and the variable it stands in."""

    credential: ApiKey
    variable: str


def from_environment(row: Row, environ: Mapping[str, str]) -> FromEnvironment | None:
    """The first variable of the row that holds anything; no other row's name is ever read for it.

    Refused `invalid_request`, reason `key`, naming a variable whose text is no key: going on to the next would use
    another account than the one that was meant.
    """
    for name in row.credential_env:
        text = environ.get(name, "")
        if text.strip():
            credential = read_key(text, name, is_bearer=name in row.bearer_env)
            return FromEnvironment(credential=credential, variable=name)
    return None
