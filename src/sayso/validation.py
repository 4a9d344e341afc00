"""Judging traces of the Open Agent Protocol, without a network.

    report = judge(Path("trace.jsonl").read_bytes())
    assert report.valid, report.diagnostics

`judge` takes bytes or an open binary file, `mode` ("strict" or "tolerant"), `packs` from `load_packs`, and `profile`. A
trace is one endpoint's, whole. `DIAGNOSTICS` lists every code with what it means.
"""

from __future__ import annotations

from sayso.control.validator.diagnostics import DIAGNOSTICS, Finding, Phase
from sayso.control.validator.judging import Profile, judge
from sayso.control.validator.pack_loading import PackRefused, load_packs
from sayso.control.validator.packs import Packs
from sayso.control.validator.report import Report, write_human, write_json
from sayso.control.validator.shape import Mode

__all__ = (
    "DIAGNOSTICS",
    "Finding",
    "Mode",
    "PackRefused",
    "Packs",
    "Phase",
    "Profile",
    "Report",
    "judge",
    "load_packs",
    "write_human",
    "write_json",
)
