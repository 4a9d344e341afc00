"""Console blocks of documents, run for real.

A ```console block is a sequence of `$ command` lines, each followed by what it prints. The commands run one after
another in a shell with a fresh home; what they print is compared with the document after ids, hashes, ports and signed
tokens, which differ from run to run, are replaced by one ellipsis each. A block that cannot run has no place in a
document, so nothing is skipped.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

__all__ = ("Block", "console_blocks", "normalise", "run_block", "with_fresh_blocks")

_FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VOLATILE = (
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), "eyJ…"),
    (re.compile(r"\b([a-z]{1,8})_[a-z2-7]{26}\b"), r"\1_…"),
    (re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])"), "…"),
    (re.compile(r"\b127\.0\.0\.1:\d+"), "127.0.0.1:…"),
    (re.compile(r"/tmp/[\w/.-]+"), "…"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


class Block(msgspec.Struct, frozen=True):
    """One console block: its place in the document and its `(command, printed)` pairs."""

    line: int
    steps: tuple[tuple[str, str], ...]


def console_blocks(document: str) -> Iterator[Block]:
    """The console blocks of a Markdown document, in order."""
    for found in _FENCE.finditer(document):
        yield Block(document.count("\n", 0, found.start()) + 1, tuple(_steps(found[1])))


def _steps(body: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        while command.endswith("\\"):
            more, _, printed = printed.partition("\n")
            command = f"{command}\n{more}"
        yield command, printed


def normalise(text: str) -> str:
    """`text` with what differs from run to run replaced by an ellipsis."""
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return text


def run_block(block: Block, home: Path, path: str) -> tuple[tuple[str, str], ...]:
    """Runs each command of a block with `home` as $HOME and `path` in front of $PATH; gives what each printed."""
    environment = {
        "HOME": str(home),
        "PATH": f"{path}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
    return tuple((command, _printed(command, environment, home)) for command, _ in block.steps)


def _printed(command: str, environment: dict[str, str], cwd: Path) -> str:
    done = subprocess.run(
        command,
        shell=True,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def with_fresh_blocks(document: str, home: Path, path: str) -> str:
    """The document with each console block's output replaced by what its commands print now."""

    def fresh(found: re.Match[str]) -> str:
        block = Block(0, tuple(_steps(found[1])))
        printed = run_block(block, home, path)
        return "```console\n" + "".join(f"$ {command}\n{normalise(text)}" for command, text in printed) + "```"

    return _FENCE.sub(fresh, document)
