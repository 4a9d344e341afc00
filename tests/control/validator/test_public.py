"""The public module: exactly its names, and the example it gives."""

from __future__ import annotations

from sayso import validation
from sayso.control.validator.shipped import FIXTURES


def test_the_public_module_has_exactly_its_names() -> None:
    """What is not in the tuple is free to change."""
    names = {name for name in vars(validation) if not name.startswith("_") and name != "annotations"}
    assert names == set(validation.__all__)
    assert isinstance(validation.__all__, tuple)


def test_a_program_judges_as_the_command_does() -> None:
    """Bytes in, a report out; a report without findings is valid."""
    report = validation.judge((FIXTURES / "traces" / "plain-run.jsonl").read_bytes(), file="plain-run")
    assert report == validation.Report("plain-run", (), 5, 0)
    twice = validation.judge(b'{"protocol":"x","a":1,"a":1}')
    assert twice.mended == 1
    assert "valid (1 envelopes), which repeats" in validation.write_human([validation.Report("t", (), 1, 0, 1)])
    assert (report.valid, validation.write_human([report])) == (True, "plain-run: valid (5 envelopes)\n")
    assert validation.write_json([report]) == b'[{"file":"plain-run","valid":true,"diagnostics":[]}]'
