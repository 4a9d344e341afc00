"""The three places an appointment can be at."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.scheduling.terms.place import AtGuest, AtHost, Elsewhere, Place


def read(value):
    return strictjson.decode(strictjson.encode(value), Place)


@pytest.mark.req("SCH-171", "SCH-259")
@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"at": "host"}, AtHost()),
        ({"at": "guest", "postal_code": "M6J 1H4", "country": "CA"}, AtGuest(postal_code="M6J 1H4", country="CA")),
        ({"at": "elsewhere", "name": "Trinity Park"}, Elsewhere(name="Trinity Park")),
    ],
)
def test_each_place_is_read_and_written_alike(value, place):
    """At the host, at the guest's, elsewhere."""
    assert read(value) == place
    assert strictjson.parse(strictjson.encode(place)) == value


@pytest.mark.req("SCH-171", "SCH-023")
@pytest.mark.parametrize(
    "value",
    [
        {},
        {"at": "moon"},
        {"at": "host", "name": "here"},
        {"at": "guest", "postal_code": "M6J 1H4"},
        {"at": "guest", "postal_code": "m6j", "country": "CA"},
        {"at": "guest", "postal_code": "M6J 1H4", "country": "Canada"},
        {"at": "elsewhere"},
        {"at": "elsewhere", "name": ""},
        "host",
    ],
)
def test_anything_else_is_no_place(value):
    """Closed, each with exactly its own members."""
    with pytest.raises(Refused):
        read(value)
