"""`sayso gateway agents|tasks|memory`: the owner's acts at the command line."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from tests.apps.cli.typed import PASSPHRASE, kinds, made, run
from tests.journeys.house import sayso
from tests.journeys.terminal import at_terminal

KEY = re.compile(r"^osz_[A-Za-z0-9_-]{43}$", re.MULTILINE)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose keys have no passphrase."""
    return made(tmp_path / "home", None)


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    """A home whose keys are under `PASSPHRASE`."""
    return made(tmp_path / "locked", PASSPHRASE)


@pytest.mark.req("GTW-061", "GTW-010")
def test_an_agent_is_let_in_and_its_key_is_printed_once(home: Path) -> None:
    """The key alone stands on standard output; nothing that is asked later shows it again."""
    done = run(home, "gateway", "agents", "issue", "helper", "--scope", "mcp", "--scope", "tasks")
    key = done.out.strip()
    assert KEY.fullmatch(key)
    listed = run(home, "gateway", "agents", "list")
    assert ("helper" in listed.out, key in listed.out + listed.err) == (True, False)
    (row,) = run(home, "gateway", "agents", "list", "--json").json["agents"]
    assert (row["name"], row["state"], row["scopes"], len(row["keys"])) == ("helper", "active", ["mcp", "tasks"], 1)
    twice = run(home, "gateway", "agents", "issue", "helper", "--json", code=1)
    assert (twice.json["failed"]["code"], "Rotate its key" in twice.err) == ("agent_exists", True)


@pytest.mark.req("GTW-061", "GTW-010")
def test_a_key_file_is_new_and_its_owners_alone(home: Path, tmp_path: Path) -> None:
    """The key is in it and nowhere on the screen; a file that exists is not written over, and no key is made then."""
    file = tmp_path / "key"
    done = run(home, "gateway", "agents", "issue", "helper", "--key-file", str(file))
    key = file.read_text()
    assert (KEY.fullmatch(key.strip()) is not None, "osz_" in done.out + done.err) == (True, False)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    run(home, "gateway", "agents", "issue", "other", "--key-file", str(file), code=3)
    assert file.read_text() == key
    assert "other" not in run(home, "gateway", "agents", "list").out
    gone = tmp_path / "gone"
    run(home, "gateway", "agents", "issue", "helper", "--key-file", str(gone), code=1)
    assert not gone.exists()


@pytest.mark.req("GTW-061")
def test_keys_are_rotated_revoked_suspended_and_reissued_by_name(home: Path) -> None:
    """An agent is named by its name or its id, a key by its id; each act is in the receipts."""

    def working() -> int:
        (row,) = run(home, "gateway", "agents", "list", "--json").json["agents"]
        return 0 if row["state"] != "active" else sum(key["revoked_at"] is None for key in row["keys"])

    agents = ("gateway", "agents")
    run(home, *agents, "issue", "helper")
    run(home, *agents, "rotate", "helper", "--keep-old")
    assert working() == 2
    (row,) = run(home, *agents, "list", "--json").json["agents"]
    run(home, *agents, "revoke", row["keys"][0]["key_id"])
    assert working() == 1
    for reason in ("", " ", "x" * 201):
        assert "1 to 200 characters" in run(home, *agents, "suspend", "helper", "--reason", reason, code=2).err
    assert "sayso gateway agents reissue 'helper'" in run(home, *agents, "suspend", "helper", "--reason", "loud").out
    assert working() == 0
    assert "suspended" in run(home, *agents, "rotate", "helper", code=1).err
    assert KEY.search(run(home, *agents, "reissue", row["id"]).out)
    assert working() == 1
    assert "1 key revoked" in run(home, *agents, "revoke", "helper").out
    assert working() == 0
    assert "sayso gateway agents list" in run(home, *agents, "revoke", "nobody", code=1).err
    told = [kind for kind in kinds(home) if kind.startswith("agent.")]
    assert told == [
        "agent.issued", "agent.key_issued", "agent.keys_revoked",
        "agent.suspended", "agent.reissued", "agent.keys_revoked",
    ]  # fmt: skip


@pytest.mark.req("GTW-061")
def test_letting_an_agent_in_needs_the_passphrase_typed_at_a_terminal(locked: Path) -> None:
    """A program without one is refused, whatever it pipes in; at a terminal the third wrong try ends it."""
    issue = ("gateway", "agents", "issue", "helper", "--home", str(locked))
    piped = sayso(*issue, answers=f"{PASSPHRASE}\n")
    assert (piped.code, "passphrase of your keys" in piped.err) == (1, True)
    with at_terminal(issue) as (terminal, child):
        for _ in range(3):
            terminal.wait_for("Passphrase of your keys:")
            terminal.type("not this one")
        assert ("osz_" in terminal.rest(), child.wait()) == (False, 1)
    with at_terminal(issue) as (terminal, child):
        terminal.wait_for("Passphrase of your keys:")
        terminal.type(PASSPHRASE)
        assert ("osz_" in terminal.rest(), child.wait()) == (True, 0)
    assert run(locked, "gateway", "agents", "list").out.count("helper") == 1


@pytest.mark.req("GTW-061", "GTW-005")
def test_work_is_assigned_and_listed(home: Path) -> None:
    """By the agent's name, with budget, domain and reason; in words or as an object."""
    run(home, "gateway", "agents", "issue", "helper")
    assign = ("gateway", "tasks", "assign", "helper", "research")
    done = run(home, *assign, "--input", "Find a garage", "--budget-cents", "1250", "--reason", "it rattles", "--json")
    task = done.json["task"]
    assert (task["input"], task["budget_cents"], task["state"]) == ({"instructions": "Find a garage"}, 1250, "assigned")
    run(home, *assign, "--input", '{"near": "home"}', "--reason", "again")
    listed = run(home, "gateway", "tasks", "list", "--agent", "helper", "--json").json["tasks"]
    assert [each["input"] for each in listed] == [{"near": "home"}, {"instructions": "Find a garage"}]
    assert "12.50" in run(home, "gateway", "tasks", "list").out
    run(home, "gateway", "tasks", "withdraw", task["id"])
    assert "withdrawn" in run(home, "gateway", "tasks", "list").out
    run(home, *assign, "--reason", "x", "--domain", "no.such", code=1)
    run(home, "gateway", "tasks", "assign", "nobody", "research", "--reason", "x", code=1)
    run(home, *assign, code=2)


@pytest.mark.req("GTW-061", "GTW-043")
def test_a_document_is_added_and_found(home: Path, tmp_path: Path) -> None:
    """With its receipt; what is no text is refused."""
    file = tmp_path / "note.txt"
    file.write_text("The brake pads of the blue car were changed in May.")
    kept = run(home, "gateway", "memory", "add", "Brakes", str(file), "--json").json
    found = run(home, "gateway", "memory", "search", "brake", "pads", "--json").json
    assert (found["hits"][0]["document"], found["hits"][0]["receipt"]) == (kept["document"], kept["receipt"])
    assert "blue car" in run(home, "gateway", "memory", "search", "brake pads").out
    file.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in run(home, "gateway", "memory", "add", "Brakes", str(file), code=1).err
    keys = run(home, "gateway", "memory", "domains", "--json").json["domains"]
    assert len(keys) == 1000
