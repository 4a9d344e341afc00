"""The specification shows what the code does, byte for byte."""

from __future__ import annotations

import asyncio

import jsonschema_rs
import msgspec
import pytest

from sayso.core import strictjson
from sayso.proof.jws import read_jws
from sayso.scheduling.tools.acts import ACTS
from sayso.scheduling.tools.printed import schema_document
from tests.scheduling import trace


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    return asyncio.run(trace.walk(tmp_path_factory.mktemp("walk")))


@pytest.mark.req("SCH-377", "SCH-169", "SCH-396")
def test_every_printed_block_is_what_the_code_prints(walked):
    """Registry, zones, tools, schemas, texts and the walkthrough; `python -m tests.scheduling.trace` writes them."""
    fetcher, home = walked
    found = {name: print_() for name, print_ in trace.PRINTED.items()}
    found |= {"schcp-texts": trace.texts(home), "schcp-walkthrough": trace.trace(fetcher)}
    spec = trace.SPEC.read_text()
    assert trace.filled(spec, found) == spec


def test_what_goes_over_the_wire_fits_the_printed_schemas(walked):
    """Judged by another library than the one that decodes it; and closed, so that one member more does not fit."""
    fetcher, _ = walked
    kinds = {
        "/.well-known/scheduling.json": (None, "Discovery"),
        "/availability": ("AvailabilityRequest", "AvailabilityAnswer"),
        "/holds": ("HoldRequest", "HoldView"),
        "/confirm": ("ConfirmRequest", "Settled"),
        "/cancel": ("CancelRequest", "Settled"),
    }
    judged = 0
    for _, url, headers, body, response in fetcher.seen:
        sent, answered = next(pair for end, pair in kinds.items() if url.endswith(end))
        documents = [(sent, body), (answered, response.body)]
        documents += [("MandateClaims", read_jws(value).payload) for name, value in headers if name == "SchCP-Mandate"]
        answer = strictjson.parse(response.body)
        documents += [
            (name, read_jws(answer[member]).payload)
            for member, name in (("offer", "OfferClaims"), ("receipt", "ReceiptClaims"))
            if member in answer
        ]
        for name, data in documents:
            if name is not None:
                value = strictjson.parse(data)
                assert validator(name).is_valid(value), name
                assert not validator(name).is_valid({**value, "fee": 1}), name
                judged += 1
    assert judged >= 14


def validator(name):
    return jsonschema_rs.validator_for({**schema_document(), "$ref": f"#/$defs/{name}"})


def objects(schema):
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for inner in schema.values():
            yield from objects(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from objects(inner)


@pytest.mark.req("SCH-023", "SCH-048", "SCH-097", "SCH-399")
def test_every_object_of_every_schema_is_closed():
    """At every depth; the one map is a calendar event's locations."""
    maps = [found for found in objects(schema_document()) if found.get("additionalProperties") is not False]
    assert maps == [{"type": "object", "additionalProperties": {"$ref": "#/$defs/EventLocation"}, "maxProperties": 1}]


@pytest.mark.req("SCH-108", "SCH-402")
def test_no_schema_or_tool_speaks_of_money_changing_hands_or_of_merchants():
    """Neither in names nor in words."""
    text = strictjson.encode(schema_document()).decode().lower()
    text += "".join(act.description + strictjson.encode(act.input_schema()).decode() for act in ACTS).lower()
    for word in ("wallet", "budget", "merchant", "customer", "deposit", "refund", "max_no_show_fee", "approved_by"):
        assert word not in text


def test_tool_schemas_are_ones_that_any_model_provider_reads():
    """Plain patterns without look-around, every argument described or titled."""
    for act in ACTS:
        schema = act.input_schema()
        assert schema["additionalProperties"] is False
        assert "(?" not in strictjson.encode(schema).decode()
        for found in objects(schema):
            for name, member in found.get("properties", {}).items():
                text = msgspec.json.encode(member).decode()
                assert "description" in text or "$ref" in text, (act.name, name)
