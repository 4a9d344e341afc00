"""`sayso providers` as a command: no credential, no network, and its exit codes."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.journeys.house import environment, sayso

PRESETS = ["zai-cn-responses-control", "zai-cn-responses-glm-5.3-flash", "zai-cn-anthropic", "zai-cn-chat"]


@pytest.mark.req("OAP-141", "OAP-213")
def test_it_lists_the_catalog_and_ones_own(tmp_path: Path) -> None:
    """For people and for programs, in the same order; nothing is made in the home."""
    (tmp_path / "providers.json").write_text('{"providers": {"local": {"base_url": "http://localhost:1"}}}')
    text = sayso("providers", "--home", str(tmp_path))
    found = sayso("providers", "--home", str(tmp_path), "--format", "json")
    ids = [row["id"] for row in found.json["providers"]]
    assert (text.code, found.code, text.err, found.err) == (0, 0, "", "")
    assert [line.split()[0] for line in text.out.splitlines()] == ids
    assert (len(ids), ids[0], ids[-1]) == (25, "openai", "local")
    assert [row["id"] for row in found.json["providers"] if row["is_custom"]] == ["local"]
    assert [path.name for path in tmp_path.iterdir()] == ["providers.json"]


@pytest.mark.req("OAP-149", "OAP-213")
def test_the_china_presets_need_neither_home_nor_credential_nor_network(tmp_path: Path) -> None:
    """Four presets with their whole address, also where the home's own file is bad."""
    (tmp_path / "providers.json").write_text("{")
    found = sayso("providers", "zai-cn", "--home", str(tmp_path), "--format", "json")
    assert (found.code, found.err) == (0, "")
    presets = found.json["presets"]
    assert [each["id"] for each in presets] == PRESETS
    assert presets[2]["url"] == "https://open.bigmodel.cn/api/anthropic/v1/messages"
    assert all(each["url"] == each["base_url"] + each["request_path"] for each in presets)
    text = sayso("providers", "zai-cn", "--home", str(tmp_path / "none"))
    assert (text.code, text.err) == (0, "")
    assert all(each["id"] in text.out and each["url"] in text.out and each["model"] in text.out for each in presets)
    assert not (tmp_path / "none").exists()


@pytest.mark.req("OAP-213")
def test_one_provider_is_told_in_full_and_one_that_is_not_there_exits_2(tmp_path: Path) -> None:
    """With what is near."""
    kimi = sayso("providers", "kimi", "--home", str(tmp_path))
    assert kimi.code == 0
    assert "https://api.kimi.ai/coding (openai-chat-completions, global)" in kimi.out
    assert "KIMI_API_KEY" in kimi.out
    assert sayso("providers", "kimi", "--home", str(tmp_path), "--format", "json").json["default_region"] == "china"
    missing = sayso("providers", "kimy", "--home", str(tmp_path))
    assert (missing.code, missing.out) == (2, "")
    assert "Did you mean kimi?" in missing.err
    assert sayso("providers", "--format", "xml").code == 2


@pytest.mark.req("OAP-148", "OAP-213")
def test_a_bad_file_of_ones_own_is_told_by_name_and_line_and_nothing_is_listed(tmp_path: Path) -> None:
    """It could not start."""
    (tmp_path / "providers.json").write_text('{"providers": {\n"kimi": {"base_url": "https://x.example"}}}')
    found = sayso("providers", "--home", str(tmp_path))
    assert (found.code, found.out) == (3, "")
    assert "the provider `kimi`" in found.err
    assert "providers.json line 2" in found.err


@pytest.mark.req("OAP-148")
def test_a_name_of_ones_own_moves_no_cursor(tmp_path: Path) -> None:
    """What a file holds is text and never a control sequence."""
    entry = '{"providers": {"local": {"base_url": "http://localhost:1", "display_name": "\\u001b[2Jx"}}}'
    (tmp_path / "providers.json").write_text(entry)
    found = sayso("providers", "--home", str(tmp_path))
    assert (found.code, "characters that do not show" in found.err) == (3, True)
    assert "\x1b" not in found.out + found.err


@contextmanager
def model_server(wire: str, *more: str) -> Iterator[dict[str, str]]:
    """A vendor of its own process: the variables that move a catalogued provider there."""
    command = [sys.executable, "-m", "sayso.testing.vendor_servers", "--wire", wire, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["environ"]
        finally:
            process.terminate()


@pytest.mark.req("OAP-144", "OAP-147", "OAP-213")
def test_models_are_listed_as_they_were_last_told(tmp_path: Path) -> None:
    """Asked for only with --refresh; then there without any network, with the one that is taken where none is named."""
    (tmp_path / "settings.toml").write_text('resolve = {"models.dev" = "127.0.0.1:9"}\n')
    home = ("--home", str(tmp_path))
    before = sayso("providers", "models", "--provider", "anthropic", *home)
    assert (before.code, before.out) == (0, "")
    assert "--refresh" in before.err
    with model_server("messages", "--model", "alpha", "--model", "be") as environ:
        asked = sayso("providers", "models", "--provider", "anthropic", "--refresh", *home, **environ)
    assert (asked.code, asked.err) == (0, "models.dev told nothing new; what it said before still counts.\n")
    again = sayso("providers", "models", "--format", "json", *home, **environ)
    found = [model for model in again.json["models"] if model["provider"] == "anthropic"]
    assert [(model["model_ref"], model.get("is_default")) for model in found] == [
        ("anthropic/alpha", None), ("anthropic/be", True)
    ]  # fmt: skip
    assert "anthropic/be     Be     200k     64k     vendor  chosen where none is named" in asked.out
    gone = sayso("providers", "models", "--provider", "anthropic", "--refresh", *home, **environ)
    assert (gone.code, "anthropic/be" in gone.out) == (1, True)
    assert "anthropic: Anthropic could not be reached" in gone.err


@pytest.mark.req("OAP-213")
def test_ctrl_c_while_a_vendor_is_asked_is_no_failure_of_ours(tmp_path: Path) -> None:
    """Exit 1 with one word, and no list behind it."""
    (tmp_path / "settings.toml").write_text('resolve = {"models.dev" = "127.0.0.1:9"}\n')
    words = ("providers", "models", "--provider", "ollama", "--refresh", "--home", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environ = environment(OLLAMA_BASE_URL=f"http://127.0.0.1:{silent.getsockname()[1]}")
        command = [sys.executable, "-m", "sayso", *words]
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            try:
                silent.settimeout(60)
                with silent.accept()[0]:
                    child.send_signal(signal.SIGINT)
                    out, err = child.communicate(timeout=60)
            finally:
                child.kill()
    assert (child.returncode, out) == (1, b"")
    assert err.endswith(b"Stopped.\n")
    assert b"failed inside" not in err


@pytest.mark.req("OAP-213")
def test_what_goes_with_models_alone_is_refused_elsewhere(tmp_path: Path) -> None:
    """Called wrongly."""
    assert sayso("providers", "--refresh", "--home", str(tmp_path)).code == 2
    assert sayso("providers", "models", "--provider", "kimy", "--home", str(tmp_path)).code == 2
