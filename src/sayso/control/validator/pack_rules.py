"""What a pack's document must hold to before it is loaded, judged without its files (OAP-034).

The names without a prefix belong to the specification, all of them; a pack declares names beneath its own id alone, and
no id of the loaded set lies beneath another, so whose a name is needs no search. Whatever a request or an event needs
is stated; a response takes its gate from the request it answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import inspect

from sayso.control.protocol.packs import PackDocument, PackEnvelopeType, PackFixture
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.types import AGENT_TYPES

__all__ = ("Fault", "judge_claims", "judge_document", "judge_set")

Fault = tuple[str, str]
"""A code and what is wrong."""

_DOMAINS = frozenset(
    (
        "com",
        "org",
        "net",
        "edu",
        "gov",
        "mil",
        "int",
        "info",
        "biz",
        "dev",
        "app",
        "example",
        "test",
        "invalid",
        "local",
    )
)


def judge_set(documents: Sequence[PackDocument]) -> Iterator[Fault]:
    """The packs of one run, among one another."""
    for place, one in enumerate(documents):
        for other in documents[place + 1 :]:
            short, long = sorted((one.id, other.id), key=len)
            if short == long or long.startswith(f"{short}."):
                yield "pack_id_collision", f"the packs `{one.id}` and `{other.id}` claim one prefix"
    loaded = {(document.id, document.version) for document in documents}
    for document in documents:
        for need in document.depends_on or ():
            if (need.id, need.version) not in loaded:
                yield (
                    "pack_dependency_missing",
                    f"`{document.id}` needs `{need.id}` {need.version}, which is not loaded",
                )


def judge_document(document: PackDocument) -> Iterator[Fault]:
    """One pack by itself."""
    yield from _names(document)
    types = document.envelope_types or ()
    for name, count in Counter(kind.type for kind in types).items():
        if count > 1:
            yield "pack_type_duplicate", f"`{name}` is declared {count} times"
    yield from _roles(document, types)
    yield from _gates(document, types)
    yield from _members(document)


def _names(document: PackDocument) -> Iterator[Fault]:
    declared = [
        *(document.capability_keys or ()),
        *(document.error_codes or ()),
        *(kind.type for kind in document.envelope_types or ()),
        *(
            member.member
            for member in document.payload_members or ()
            if not _restates(member.payload_type, member.member)
        ),
    ]
    for name in declared:
        if name.startswith(f"{document.id}.") and len(name) > len(document.id) + 1:
            continue
        first = name.partition(".")[0]
        if "." in name and (first in _DOMAINS or len(first) == 2):
            yield "pack_foreign_prefix", f"`{name}` does not lie beneath `{document.id}`"
        else:
            yield "pack_unprefixed_name", f"`{name}` has no prefix, so it would be the specification's"


def _roles(document: PackDocument, types: Sequence[PackEnvelopeType]) -> Iterator[Fault]:
    requests = {kind.type for kind in types if kind.role == "request"}
    answered: Counter[str] = Counter()
    for kind in types:
        if kind.role is UNSET:
            yield "pack_role_undeclared", f"`{kind.type}` does not say whether it asks, answers or tells"
        if kind.role == "response":
            if kind.replies_to not in requests:
                yield "pack_reply_target_unknown", f"`{kind.type}` answers no request of this pack"
            else:
                answered[str(kind.replies_to)] += 1
        for code in kind.refusals or ():
            if code not in (document.error_codes or ()):
                yield "pack_refusal_undeclared", f"`{kind.type}` is refused with `{code}`, which is not declared"
    for name, count in answered.items():
        if count > 1:
            yield "pack_reply_target_ambiguous", f"`{name}` is answered by {count} types"


def _gates(document: PackDocument, types: Sequence[PackEnvelopeType]) -> Iterator[Fault]:
    keys = document.capability_keys or ()
    stated: set[tuple[str, str]] = set()
    for gate in document.gates or ():
        what = (str(gate.type), "") if gate.type is not UNSET else (str(gate.payload_type), str(gate.member))
        if gate.ungated is True or gate.capability in keys:
            stated.add(what)
    for kind in types:
        if kind.role == "response" and any(gate.type == kind.type for gate in document.gates or ()):
            yield "pack_response_gated", f"`{kind.type}` takes its gate from the request it answers"
        if kind.role in ("request", "event") and (kind.type, "") not in stated:
            yield "pack_ungated_type", f"`{kind.type}` needs a declared capability, or says that it needs none"
    for member in document.payload_members or ():
        if (member.payload_type, member.member) not in stated:
            yield (
                "pack_ungated_type",
                f"`{member.member}` of `{member.payload_type}` needs a gate, or says it needs none",
            )


def _members(document: PackDocument) -> Iterator[Fault]:
    seen: set[tuple[str, str]] = set()
    for member in document.payload_members or ():
        what = (member.payload_type, member.member)
        if member.payload_type not in AGENT_TYPES:
            yield "pack_member_target_unknown", f"the core has no type `{member.payload_type}`"
        elif _restates(*what):
            yield "pack_restates_core_member", f"`{member.payload_type}` has a member `{member.member}`"
        if what in seen:
            yield "pack_member_duplicate", f"`{member.member}` of `{member.payload_type}` is declared twice"
        seen.add(what)


def _restates(type_name: str, member: str) -> bool:
    kind = AGENT_TYPES.get(type_name)
    if kind is None:
        return False
    info = inspect.type_info(kind.payload)
    return isinstance(info, inspect.StructType) and member in {field.encode_name for field in info.fields}


def judge_claims(fixtures: Sequence[PackFixture], loaded: Sequence[PackDocument]) -> Iterator[Fault]:
    """What a pack's fixtures claim: its own term, or another loaded pack's, and never a unit of the core."""
    terms = {f"ext:{document.id}/{document.version}" for document in loaded}
    for fixture in fixtures:
        for unit in fixture.units:
            if not unit.startswith("ext:"):
                yield "pack_fixture_claims_core_unit", f"`{fixture.id}` claims `{unit}`, which is the core's"
            elif unit not in terms:
                yield "ext_claim_without_pack", f"`{fixture.id}` claims `{unit}`, which is not loaded"
