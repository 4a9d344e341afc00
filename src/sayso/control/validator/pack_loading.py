"""Reading packs from their folders: everything is judged before any trace is read (OAP-034).

A folder holds `pack.json` and the schemas it names. Each path is joined to the folder and resolved, links included,
before a file is opened; each reference must lead into the pack, the core's bundle or a declared dependency.
"""

from __future__ import annotations

import copy
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sayso.control.protocol.packs import PackDocument, PackEnvelopeType, PackFixture
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.control.protocol.schema.printing import BASE, documents
from sayso.control.validator.compiling import Check, compile_schema, references
from sayso.control.validator.diagnostics import Finding, Phase
from sayso.control.validator.pack_rules import Fault, judge_claims, judge_document, judge_set
from sayso.control.validator.packs import PackMember, Packs, PackType
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("PackRefused", "load_packs", "read_fixtures")

_ADDRESS = "https://packs.sayso.example"
_MAX_BYTES = 1024 * 1024


class PackRefused(Refused):
    """One or more packs were refused; `findings` says why, each of the phase `load`."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        first = findings[0]
        super().__init__(Refused.because(first.code, first.message, place=first.place).refusal)
        self.findings = tuple(findings)


class _Folder:
    """One pack on its way in."""

    def __init__(self, path: Path, document: PackDocument) -> None:
        self.path = path
        self.document = document
        self.schemas: dict[str, Any] = {}
        self.fixtures: tuple[PackFixture, ...] = ()
        self.faults: list[Fault] = list(judge_document(document))

    def address(self, name: str) -> str:
        return f"{_ADDRESS}/{self.document.id}/{name}"


def load_packs(paths: Sequence[Path]) -> Packs:
    """The packs of these folders, ready to judge with. Raises `PackRefused` with every fault of every pack."""
    if not paths:
        return Packs()
    folders = [_open(path) for path in paths]
    for folder in folders:
        _read_files(folder)
    whole = [folder.document for folder in folders]
    findings = [_finding(fault, folder.path) for folder in folders for fault in folder.faults]
    findings += [_finding(fault, None) for fault in judge_set(whole)]
    for folder in folders:
        findings += [_finding(fault, folder.path) for fault in judge_claims(folder.fixtures, whole)]
        findings += [_finding(fault, folder.path) for fault in _judge_references(folder, folders)]
        findings += [_finding(fault, folder.path) for fault in _judge_branches(folder)]
    if findings:
        raise PackRefused(findings)
    return _assemble(folders)


def read_fixtures(path: Path) -> tuple[PackFixture, ...]:
    """The fixtures a pack ships, their paths resolved by whoever runs them."""
    folder = _open(path)
    _read_files(folder)
    return folder.fixtures


def _open(path: Path) -> _Folder:
    try:
        data = (path / "pack.json").read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise PackRefused([_finding(("pack_schema_path_escape", message), path / "pack.json")]) from None
    try:
        return _Folder(path, strictjson.decode(data, PackDocument))
    except Refused as refused:
        code = "duplicate_key" if refused.refusal.reason == "duplicate_member" else refused.refusal.code
        raise PackRefused([_finding((code, str(refused.refusal)), path / "pack.json")]) from None


def _read_files(folder: _Folder) -> None:
    for name in folder.document.schemas:
        value = _contained(folder, name)
        if value is not None:
            folder.schemas[posixpath.normpath(name)] = value
    if folder.document.fixtures is not UNSET:
        value = _contained(folder, folder.document.fixtures)
        if value is not None:
            try:
                folder.fixtures = msgspec.convert(value, tuple[PackFixture, ...])
            except msgspec.ValidationError as error:
                folder.faults.append(("schema_invalid", f"{folder.document.fixtures}: {error}"))
    for fixture in folder.fixtures:
        _contained_path(folder, posixpath.join(posixpath.dirname(str(folder.document.fixtures)), fixture.path))


def _contained_path(folder: _Folder, name: str) -> Path | None:
    root = folder.path.resolve()
    path = (root / name).resolve()
    if Path(name).is_absolute() or not path.is_relative_to(root) or not path.is_file():
        folder.faults.append(("pack_schema_path_escape", f"`{name}` is no file of the pack's folder"))
        return None
    return path


def _contained(folder: _Folder, name: str) -> Any:
    path = _contained_path(folder, name)
    if path is None:
        return None
    if path.stat().st_size > _MAX_BYTES:
        folder.faults.append(("schema_invalid", f"`{name}` is over {_MAX_BYTES} bytes"))
        return None
    try:
        return strictjson.parse(path.read_bytes())
    except Refused as refused:
        folder.faults.append((refused.refusal.code, f"{name}: {refused.refusal}"))
        return None


def _judge_references(folder: _Folder, folders: Sequence[_Folder]) -> Iterator[Fault]:
    """Every reference, which is also rewritten to the one address its document is registered under."""
    needs = {(need.id, need.version) for need in folder.document.depends_on or ()}
    reach = [other for other in folders if (other.document.id, other.document.version) in needs]
    targets: list[tuple[str, Any]] = [*folder.schemas.items()]
    targets += [("", member.schema) for member in folder.document.payload_members or ()]
    for name, schema in targets:
        for node, keyword in list(references(schema)):
            base, mark, pointer = node[keyword].partition("#")
            found = folder.address(name) if not base and name else "" if not base else _find(base, name, folder, reach)
            if found is None:
                yield "pack_external_ref", f"`{node[keyword]}` in `{name or 'a member'}` leads out of what is loaded"
            else:
                node[keyword] = f"{found}{mark}{pointer}"


def _find(base: str, name: str, folder: _Folder, reach: Sequence[_Folder]) -> str | None:
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(name), base))
    if beside in folder.schemas:
        return folder.address(beside)
    for other in (folder, *reach):
        for path, schema in other.schemas.items():
            is_named = isinstance(schema, dict) and schema.get("$id") == base
            if is_named or (other is not folder and base in (f"{other.document.id}/{path}", other.address(path))):
                return other.address(path)
    core = base.removeprefix(BASE)
    return f"{BASE}{core}" if core in documents() else None


def _judge_branches(folder: _Folder) -> Iterator[Fault]:
    declared = {kind.type for kind in folder.document.envelope_types or ()}
    for kind in folder.document.envelope_types or ():
        file, _, pointer = ("" if kind.schema is UNSET else kind.schema).partition("#")
        schema = folder.schemas.get(posixpath.normpath(file)) if file else None
        if file and schema is None and not any(file == name for name in folder.document.schemas):
            yield "pack_external_ref", f"the branch of `{kind.type}` lies in `{file}`, which is no schema of the pack"
            continue
        pinned = _pinned(schema, pointer)
        if pinned is None:
            yield "pack_branch_unpinned", f"the branch of `{kind.type}` does not pin `type` to one value"
        elif pinned != kind.type:
            known = "another declared" if pinned in declared else "an undeclared"
            yield "pack_branch_undeclared_type", f"the branch of `{kind.type}` is pinned to {known} type, `{pinned}`"


def _pinned(schema: Any, pointer: str) -> str | None:
    node = schema
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        node = node.get(key) if isinstance(node, dict) else None
    properties = node.get("properties") if isinstance(node, dict) else None
    kind = properties.get("type") if isinstance(properties, dict) else None
    value = kind.get("const") if isinstance(kind, dict) else None
    return value if isinstance(value, str) else None


def _assemble(folders: Sequence[_Folder]) -> Packs:
    resources: dict[str, object] = {f"{BASE}{name}": schema for name, schema in documents().items()}
    for folder in folders:
        for name, schema in folder.schemas.items():
            address = folder.address(name)
            resources[address] = {**copy.deepcopy(schema), "$id": address} if isinstance(schema, dict) else schema
    types: list[PackType] = []
    members: dict[str, list[PackMember]] = {}
    for folder in folders:
        gates = _gate_table(folder.document)
        types += [_type(folder, kind, gates, resources) for kind in folder.document.envelope_types or ()]
        for member in folder.document.payload_members or ():
            check = _compile(folder, dict(member.schema), resources)
            gate = gates.get((member.payload_type, member.member))
            added = PackMember(name=member.member, pack=folder.document.id, check=check, capability=gate)
            members.setdefault(member.payload_type, []).append(added)
    return Packs(types, members)


def _gate_table(document: PackDocument) -> dict[tuple[str, str], str]:
    table = {}
    for gate in document.gates or ():
        if gate.capability is not UNSET:
            key = (str(gate.type), "") if gate.type is not UNSET else (str(gate.payload_type), str(gate.member))
            table[key] = gate.capability
    return table


def _type(
    folder: _Folder, kind: PackEnvelopeType, gates: dict[tuple[str, str], str], resources: dict[str, object]
) -> PackType:
    file, mark, pointer = str(kind.schema).partition("#")
    schema = {"$ref": f"{folder.address(posixpath.normpath(file))}{mark}{pointer}"}
    asked = str(kind.replies_to) if kind.role == "response" else kind.type
    return PackType(
        name=kind.type,
        pack=folder.document.id,
        role=_given(kind.role),
        check=_compile(folder, schema, resources),
        capability=gates.get((asked, "")),
        replies_to=None if kind.replies_to is UNSET else kind.replies_to,
        refusals=frozenset(kind.refusals or ()),
    )


def _given(role: Maybe[Any]) -> Any:
    return role


def _compile(folder: _Folder, schema: Mapping[str, object], resources: dict[str, object]) -> Check:
    try:
        return compile_schema(schema, resources)
    except Refused as refused:
        raise PackRefused([_finding(("pack_external_ref", refused.refusal.message), folder.path)]) from None


def _finding(fault: Fault, path: Path | None) -> Finding:
    code, message = fault
    return Finding(phase=Phase.LOAD.value, code=code, message=message, place=None if path is None else str(path))
