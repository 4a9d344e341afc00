"""A plain yes lets an act run that touches nobody else, and nothing more."""

from __future__ import annotations

import msgspec
import pytest

from sayso.control.grants import GrantConsent
from sayso.core.canonical import canonical
from sayso.core.refusal import Refused
from sayso.governance.acts import Act, ActClass
from sayso.governance.consent import Answer, Consent, Evidence, Question, decide
from sayso.proof.hashes import sha256_b64u

pytestmark = pytest.mark.anyio


class Path(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str


def act(name: str, *, touches_others: bool = False) -> Act:
    return Act(
        name=name,
        act_class=ActClass.EXECUTION,
        title=name,
        description="",
        arguments=Path,
        touches_others=touches_others,
    )


WRITE = act("Write a file")
BOOK = act("book", touches_others=True)
GRANTS = GrantConsent(lambda: (WRITE, BOOK), person="urn:person")


async def test_a_grant_is_asked_for_and_bound_to_the_arguments() -> None:
    """What was granted is told by a hash: a yes to one path is no yes to another."""
    asked = await GRANTS.consent(WRITE.name, Path("/tmp/a"), [])
    assert isinstance(asked, Question)
    assert (asked.kind, asked.text) == ("grant", "Write a file: path /tmp/a")
    given = await GRANTS.consent(WRITE.name, Path("/tmp/a"), [Answer(granted=True)])
    assert given == Consent(
        by="urn:person", evidence=Evidence.GRANT, subject_sha256=sha256_b64u(asked.document), mode="human_present"
    )
    assert asked.document == canonical({"act": "Write a file", "arguments": {"path": "/tmp/a"}})
    assert decide(WRITE, [given]) == given


async def test_a_no_refuses() -> None:
    """The last word counts."""
    with pytest.raises(Refused) as refused:
        await GRANTS.consent(WRITE.name, Path("/tmp/a"), [Answer(granted=False)])
    assert refused.value.refusal.code == "permission_denied"


@pytest.mark.parametrize("name", [BOOK.name, "unknown"])
async def test_nothing_is_granted_for_another_party_or_an_unknown_act(name: str) -> None:
    """Not even a question is asked: whose act it is has its own evidence."""
    assert await GRANTS.consent(name, Path("/tmp/a"), [Answer(granted=True)]) is None
