"""The pack document, held against the upstream schema: the same verdicts on one that is changed anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.control.protocol.packs import PackDocument
from sayso.control.validator.shipped import FIXTURES, STORAGE
from tests.control.conftest import upstream
from tests.control.protocol.test_types import mutations


def is_read(value: Any) -> bool:
    try:
        msgspec.convert(value, PackDocument)
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.req("OAP-032")
def test_a_changed_document_gets_the_verdict_of_the_upstream_schema(shared: Path) -> None:
    """Dropped, renamed, repeated or replaced, at every place of a document with every member in it."""
    schema = upstream(shared / "oap" / "schema" / "v0.1", "pack.schema.json")
    document = json.loads((STORAGE / "pack.json").read_text())
    document["depends_on"] = [{"id": "org.example.other", "version": "1"}]
    document["gates"].append({"type": "x", "ungated": True})
    seen = [(path, what, is_read(changed), schema.is_valid(changed)) for path, what, changed in mutations(document)]
    assert is_read(document)
    assert len(seen) > 400
    assert [verdict for verdict in seen if verdict[2] != verdict[3]] == []


def test_every_shipped_document_has_the_upstream_shape(shared: Path) -> None:
    """What a pack of ours is refused for is never its shape."""
    schema = upstream(shared / "oap" / "schema" / "v0.1", "pack.schema.json")
    folders = [STORAGE, *sorted((FIXTURES / "packs").iterdir())]
    assert [
        folder.name for folder in folders if not schema.is_valid(json.loads((folder / "pack.json").read_text()))
    ] == []
