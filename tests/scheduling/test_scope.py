"""What this protocol is, and what it must not have: read from routes, schemas, registry, tables, imports and texts."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec
import pytest

from sayso.ledger.rules.kinds import KINDS
from sayso.scheduling.host.config import ENDPOINT_PATH, HostConfig
from sayso.scheduling.host.http import ROUTES
from sayso.scheduling.terms.codes import ROWS
from sayso.scheduling.terms.events import NAMES
from sayso.scheduling.terms.wire import VERSION
from sayso.scheduling.tools.acts import ACTS
from sayso.scheduling.tools.printed import DOCUMENTS, schema_document
from sayso.store.tables import every_table
from sayso.testing.breaks import read_text
from sayso.world.hosts import HOSTS

ROOT = Path(__file__).resolve().parents[2]
SCHEDULING = ROOT / "src" / "sayso" / "scheduling"
SPEC = ROOT / "docs" / "spec" / "scheduling.md"
APPS = ROOT / "src" / "sayso" / "apps"
ANOTHER_PROTOCOLS = {
    *(APPS / "cli" / name for name in ("check.py", "conformance.py", "serve.py", "validate.py", "gateway_tasks.py")),
    *(APPS / "console").rglob("*.py"),
}
"""Surfaces of agent control and of the gateway, whose words are their own: work for an agent has a budget there."""
TEXTS = [
    *sorted(SCHEDULING.rglob("*.py")),
    *sorted((ROOT / "src" / "sayso" / "world").rglob("*.py")),
    *sorted(set(APPS.rglob("*.py")) - ANOTHER_PROTOCOLS),
    SPEC,
    ROOT / "docs" / "commands.md",
]


def text(path):
    return read_text(ROOT, path)


def members(schema):
    """Every name and every word of an enumeration, at any depth."""
    if isinstance(schema, dict):
        for word, inner in schema.items():
            if word in ("properties", "$defs"):
                yield from inner
            if word in ("enum", "const"):
                yield from (each for each in (inner if isinstance(inner, list) else [inner]) if isinstance(each, str))
            yield from members(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from members(inner)


def names():
    """Every name that travels, is kept or is set: what an implementer, a host and an agent can meet."""
    found = set(members(schema_document())) | set(members(msgspec.json.schema(HostConfig)))
    found |= {each.lower() for row in ROWS for each in (row.code, row.reason)}
    found |= {part for path in ROUTES for part in path.split("/")}
    found |= set(NAMES.values()) | set(KINDS)
    for act in ACTS:
        found |= {act.name, *members(act.input_schema())}
    for table in every_table().sorted_tables:
        if table.name.startswith(("host_", "guest_", "keyapp_")):
            found |= {table.name, *table.columns.keys()}
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", each).lower() for each in found}


def met(*forbidden):
    """Those names in which one of these words stands as a word, or one of these phrases at all."""
    return sorted(
        name
        for name in names()
        if set(forbidden) & set(re.split(r"[^a-z]+", name)) or any("_" in each and each in name for each in forbidden)
    )


def test_the_names_are_those_that_exist():
    """A reader of names that finds none would forbid nothing."""
    assert {"hold_id", "slot_taken", "booking.ended", "hold_slot", "host_allocation", "walk-ins", "horizon"} <= names()


@pytest.mark.req("SCH-399")
def test_no_money_moves():
    """No member, route, reason, record or column for a payment, what secures it, or what undoes it."""
    assert met(
        "deposit", "deposits", "forfeit", "payment", "payments", "instrument", "card", "capture", "captures", "void",
        "refund", "refunds", "journal", "lease", "leases", "fencing", "charge", "charges", "payout",
    ) == []  # fmt: skip


@pytest.mark.req("SCH-400")
def test_no_reason_of_a_payment_is_registered():
    """Neither as code nor as reason, and nothing says what was charged."""
    assert met(
        "deposit_required", "payment_declined", "payment_unknown", "adjustment_requires_approval", "fees_charged"
    ) == []  # fmt: skip


@pytest.mark.req("SCH-401", "SCH-218")
def test_cancelling_has_no_price_and_leaves_no_account():
    """No tiers, no quote, no penalty, nothing carried over; a fee is a line of a total and nothing else."""
    assert met("adjustment", "adjustments", "carried", "tier", "tiers", "quote", "undo", "penalty", "late_change") == []
    assert met("fee", "fees") == ["fee"]
    lines = schema_document()["$defs"]["Line"]["properties"]["kind"]["enum"]
    assert sorted(lines) == ["fee", "person", "service", "surcharge", "tax"]


@pytest.mark.req("SCH-402", "SCH-108")
def test_words_of_earlier_versions_are_nowhere():
    """Not in names, and not in code, texts or documents either."""
    assert met("max_no_show_fee", "max_cancellation_fee", "if_no_show_fee", "approved_by", "human_signature") == []
    assert met("wallet", "budget", "merchant", "customer") == []
    modes = schema_document()["$defs"]["Policies"]["properties"]["closed_mandate"]["enum"]
    assert sorted(modes) == ["always", "never"]
    word = re.compile(r"wallet|budget|human_signature|approved_by|if_no_show_fee", re.IGNORECASE)
    found = {path: [line for line in text(path).splitlines() if word.search(line)] for path in TEXTS}
    # The commands' document lists the kinds of receipt of all three protocols.
    told = {path: [line for line in lines if not line.startswith("| `task.")] for path, lines in found.items()}
    assert {path: lines for path, lines in told.items() if lines} == {}


@pytest.mark.req("SCH-015", "SCH-402")
def test_a_host_is_a_host_and_a_guest_a_guest():
    """Whether a garage or a person: nobody is sold anything by these words."""
    word = re.compile(r"\b(merchant|customer|client's customer|shopper)s?\b", re.IGNORECASE)
    assert [path.name for path in TEXTS if word.search(text(path))] == []
    assert {"business", "person"} <= set(members(schema_document()))


@pytest.mark.req("SCH-403", "SCH-394")
def test_what_was_never_in_scope_has_no_name_here():
    """Nothing recurs, finds a place, sells passes, draws lots, promises a window of arrival or ranks by travel."""
    assert met(
        "recurrence", "recurring", "rrule", "lottery", "lotteries", "membership", "memberships", "pass", "passes",
        "arrival", "skill", "skills", "travel", "directory", "brand", "brands", "nearby", "find_place", "place_finding",
    ) == []  # fmt: skip
    keyed = {table.name: table for table in every_table().sorted_tables if "reputation" in table.name}
    assert keyed
    assert all("host" in table.primary_key.columns for table in keyed.values())


@pytest.mark.req("SCH-404")
def test_nothing_is_claimed_that_is_not_there():
    """No structured needs, no bridges to commerce protocols, and nobody says that retention is checked."""
    assert met("accessibility", "ucp", "usp", "needs_profile") == []
    bridge = re.compile(r"\b(UCP|USP)\b")
    claim = re.compile(
        r"retention\b[^.\n]{0,60}\b(is|are|was) (checked|verified|enforced|guaranteed|audited)", re.IGNORECASE
    )
    assert [path.name for path in TEXTS if bridge.search(text(path)) or claim.search(text(path))] == []


@pytest.mark.req("SCH-001", "SCH-013")
def test_it_is_version_0_4_under_the_path_of_the_draft():
    """Said by the code, by each host's document and by the text."""
    assert (VERSION, ENDPOINT_PATH) == ("0.4", "/schcp/v0")
    assert text(SPEC).startswith("# Scheduling: SchCP 0.4 as sayso speaks it")
    assert "versions holds `0.4`" in text(SPEC)


def written_routes():
    """The routes as the text lists them: method and path."""
    found = set()
    for method, path in re.findall(r"`(GET|POST) ((?:/|B\b)[^`]*)`", text(SPEC)):
        found.add((method, path.replace("B", "/host/bookings/{booking_id}", 1) if path.startswith("B") else path))
    return {(method, path) for method, path in found if not path.startswith("/.well-known")}


@pytest.mark.req("SCH-003", "SCH-005", "SCH-154", "SCH-220", "SCH-231")
def test_the_routes_are_those_of_the_text_and_no_more():
    """Nothing is published, added to or refreshed: what an agent wants to know again it reads."""
    served = {(method, path) for path, methods in ROUTES.items() for method in methods}
    assert served - written_routes() == set()
    assert {path for _, path in written_routes()} - {path for _, path in served} == set()
    assert met("publish", "refresh", "add") == []


def imports(path):
    for node in ast.walk(ast.parse(text(path))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


@pytest.mark.req("SCH-003")
def test_meaning_and_machine_know_no_transport():
    """The same messages can be carried by anything: no module of terms or rules knows HTTP or a socket."""
    carriers = ("starlette", "httpx", "uvicorn", "asyncio", "socket", "sayso.net", "sayso.scheduling.host.http")
    found = {
        f"{path.relative_to(SCHEDULING)}: {name}"
        for part in ("terms", "rules", "tools")
        for path in (SCHEDULING / part).rglob("*.py")
        for name in imports(path)
        if name.startswith(carriers)
    }
    assert found == set()


@pytest.mark.req("SCH-014")
def test_the_roles_are_parts_of_their_own():
    """A guest's agent holds no host's code, a host none of the guest's, and neither any of the key app."""
    others = {"host": ("guest", "keyapp", "tools"), "guest": ("host", "keyapp", "tools"), "keyapp": ("host", "tools")}
    found = {
        f"{path.relative_to(SCHEDULING)}: {name}"
        for role, rest in others.items()
        for path in (SCHEDULING / role).rglob("*.py")
        for name in imports(path)
        if name.startswith(tuple(f"sayso.scheduling.{other}" for other in rest))
    }
    assert found == set()


@pytest.mark.req("SCH-011")
def test_a_member_has_one_name_and_a_refusal_one_shape():
    """Nothing was ever released, so nothing old is tolerated: no second spelling, one migration, one refusal."""
    jscalendar = {"type_": "@type", "time_zone": "timeZone", "show_without_time": "showWithoutTime"}
    # A word that the language keeps for itself has an underscore behind it here.
    renamed = {
        f"{info.__name__}.{field.name}": field.encode_name
        for info in structs()
        for field in msgspec.structs.fields(info)
        if field.encode_name not in (field.name, jscalendar.get(field.name), field.name.rstrip("_"))
    }
    assert renamed == {}
    migrations = ROOT / "src" / "sayso" / "store" / "migrations" / "versions"
    assert [path.name for path in migrations.glob("0*.py")] == ["0001_ground_floor.py"]
    assert [name for name in schema_document()["$defs"] if "Refusal" in name] == ["RefusalBody", "WireRefusal"]


def structs():
    """Every Struct that stands in a document, at any depth."""
    pending, seen = list(DOCUMENTS), set()
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        for field in msgspec.structs.fields(each):
            pending += structs_in(msgspec.inspect.type_info(field.type))
    return seen


def structs_in(info):
    if isinstance(info, msgspec.inspect.StructType):
        return [info.cls]
    found = []
    for inner in (getattr(info, "types", None) or ()) if hasattr(info, "types") else ():
        found += structs_in(inner)
    for name in ("item_type", "value_type", "type"):
        if isinstance(getattr(info, name, None), msgspec.inspect.Type):
            found += structs_in(getattr(info, name))
    for inner in getattr(info, "item_types", ()) or ():
        found += structs_in(inner)
    return found


@pytest.mark.req("SCH-012")
def test_code_text_and_patents_are_licensed_and_no_version_is_final():
    """Apache-2.0 for code and tests, CC-BY-4.0 for the text, and a royalty-free grant for whoever implements it."""
    code = text(ROOT / "LICENSE")
    assert ("Apache License" in code, "Version 2.0" in code) == (True, True)
    assert "SPDX-License-Identifier: CC-BY-4.0" in text(ROOT / "docs" / "LICENSE-CC-BY-4.0.txt")
    assert "Licence: CC-BY-4.0." in text(SPEC)
    policy = " ".join(text(ROOT / "IPR_POLICY.md").split())
    for said in ("implementer of a **Final** version", "royalty-free", "No version is declared Final."):
        assert said in policy
    assert 'license = "Apache-2.0"' in text(ROOT / "pyproject.toml")
    assert not re.search(r"\b(final|stable) (version|specification)\b", text(SPEC), re.IGNORECASE)


@pytest.mark.req("SCH-004", "SCH-211")
def test_the_calendar_event_has_nothing_of_scheduling_in_it():
    """Who is asked, who said what and by which method is this protocol's own; RFC 8984's members for it are missing."""
    defs = schema_document()["$defs"]
    assert sorted(defs["CalendarEvent"]["properties"]) == [
        "@type", "duration", "locations", "sequence", "showWithoutTime", "start", "status", "timeZone", "title", "uid",
        "updated",
    ]  # fmt: skip
    assert defs["CalendarEvent"]["additionalProperties"] is False
    beside = {"status", "sequence", "version", "mandate", "offer_sha256", "event"}
    assert beside <= set(defs["Booking"]["properties"])


@pytest.mark.req("SCH-050")
def test_every_host_of_the_world_publishes_the_names_of_the_text():
    """Field names and the form of a key are those of the printed schema, for each of them."""
    allowed = set(schema_document()["$defs"]["Discovery"]["properties"])
    assert {"policies", "keys", "trust", "meetings", "services", "contact"} <= allowed
    assert set(schema_document()["$defs"]["PublishedKey"]["properties"]) == {"kid", "use", "jwk"}
    assert len(HOSTS) >= 3


@pytest.mark.req("SCH-343", "SCH-352")
def test_the_tools_are_those_of_the_text_each_with_its_arguments_and_no_more():
    """Thirteen of them, by the design's names; what meetings add is not there before meetings are."""
    arguments = {
        "discover_host": "host",
        "find_slots": "host service_id earliest_start latest_start with",
        "hold_slot": "host service_id start earliest_start latest_start asked_start max_price with participants "
        "answer_within silence in_person",
        "approve_and_book": "hold_id note",
        "cancel_booking": "booking_id message",
        "change_booking": "booking_id start",
        "reconfirm_booking": "booking_id decline",
        "booking_status": "booking_id",
        "join_waitlist": "host service_id earliest_start latest_start max_price",
        "leave_waitlist": "entry_id",
        "waitlist_status": "entry_id",
        "answer_invitation": "host booking_id answer",
        "request_limits": "hosts earliest_start latest_start max_price",
    }
    found = {act.name: {each.encode_name for each in msgspec.structs.fields(act.arguments)} for act in ACTS}
    assert found == {name: set(each.split()) for name, each in arguments.items()}
    section = text(SPEC).partition("\n## 16. Tools\n")[2].partition("\n## 17.")[0]
    assert re.findall(r"^\*\*`([a-z_]+)`\*\* \(", section, re.MULTILINE) == [act.name for act in ACTS]
    assert all(act.arguments.__struct_config__.forbid_unknown_fields for act in ACTS)
