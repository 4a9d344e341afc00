"""Every table of the house in one MetaData, and the one spelling of time in it.

Columns are Integer, BigInteger, Text and LargeBinary only, so that values pass between Python and either engine
unconverted: an instant is a BigInteger of microseconds since 1970 in UTC, a yes or no an Integer of 0 or 1, JSON its
canonical bytes. No constraint is deferrable: a constraint that first fails at COMMIT would fail a whole batch.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import import_module
from pkgutil import iter_modules

from sqlalchemy import MetaData

from sayso.core.refusal import Misuse

__all__ = ("EPOCH", "every_table", "from_micros", "metadata", "micros")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# Names that follow a rule can be altered by a later migration on both engines.
metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def micros(instant: datetime) -> int:
    """Microseconds since 1970, exactly. Raises `Misuse` on an instant without an offset."""
    if instant.tzinfo is None:
        raise Misuse("an instant without an offset cannot be stored")
    return (instant - EPOCH) // _MICROSECOND


def from_micros(count: int) -> datetime:
    """The instant, aware, in UTC."""
    return EPOCH + timedelta(microseconds=count)


def every_table() -> MetaData:
    """The MetaData with all floors' tables in it, whoever asked for which before."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return metadata
