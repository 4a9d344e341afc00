"""`sayso receipts`: what was agreed, and the proof of it (GTW-052, GTW-061).

Reading and verifying need no key but the public one, and no home that can be written; only `checkpoint` signs, and asks
for the passphrase, at a terminal, if the key is locked. What is true of a log is decided in `ledger`; here it is asked
for and put into words. Exit codes of `verify`: 0 intact, 1 found bad, 2 called wrongly, 3 could not judge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from sayso.apps.cli.main import NOT_STARTED, REFUSED
from sayso.core import strictjson
from sayso.core.refusal import Corrupt, Refusal, Refused

if TYPE_CHECKING:
    from sayso.ledger.ledger import Ledger
    from sayso.ledger.reading import DisclosureProof, RecordProof
    from sayso.ledger.rules.record import Disclosure, Record
    from sayso.ledger.rules.verify import Verdict

__all__ = ("receipts",)

F = TypeVar("F", bound=Callable[..., None])

DAMAGED = "stored_data_damaged"

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_json = click.option("--json", "as_json", is_flag=True, help="For programs: JSON on standard output.")


def _of_a_log(command: F) -> F:
    """The options that say which log is meant."""
    for option in (
        click.option("--log", "name", help="Which log, where a database holds several."),
        click.option("--world", "is_world", is_flag=True, help="The sample world's receipts instead of your own."),
        click.option(
            "--home",
            type=click.Path(path_type=Path, file_okay=False),
            help="Where to look.  [default: $SAYSO_HOME, else ~/.sayso]",
        ),
    ):
        command = option(command)
    return command


@click.group(epilog="Anybody can check an export without this program: docs/verify-receipts.md tells how.")
def receipts() -> None:
    """What was agreed, and the proof of it.

    Every act leaves a receipt in one chain, where nothing can be changed, dropped or slipped in unseen.
    """


@receipts.command("list")
@_of_a_log
@click.option("--last", type=click.IntRange(1), default=40, show_default=True, help="How many, counted from the end.")
@click.option("--kind", help="Only kinds that begin so, such as: consent")
@_json
def list_(home: Path | None, is_world: bool, name: str | None, last: int, kind: str | None, as_json: bool) -> None:
    """Receipts, oldest first, a line each.

    With --json each line is the record itself: exactly the bytes that were hashed.
    """
    from sayso.apps.cli.receipt_log import open_log
    from sayso.apps.cli.receipt_text import receipt_line

    with open_log(home, is_world=is_world, name=name, only_reading=True) as log:
        size = asyncio.run(log.ledger.standing()).records
        found = asyncio.run(log.ledger.records(max(0, size - last)))
    for record in found:
        if kind is None or record.kind.startswith(kind):
            click.echo(record.data if as_json else receipt_line(record))


@receipts.command()
@click.argument("number", type=click.IntRange(0))
@_of_a_log
@click.option("--disclosure", "is_disclosure", is_flag=True, help="NUMBER is a disclosure's, not a record's.")
@click.option("--proof", "with_proof", is_flag=True, help="Also an RFC 9162 inclusion proof, hashes in hexadecimal.")
@_json
def show(
    number: int,
    home: Path | None,
    is_world: bool,
    name: str | None,
    is_disclosure: bool,
    with_proof: bool,
    as_json: bool,
) -> None:
    """One receipt in full.

    NUMBER is the record's place in the chain, counted from 0. With --json the first line is the receipt itself, exactly
    the bytes that were hashed.
    """
    from sayso.apps.cli.receipt_log import open_log
    from sayso.apps.cli.receipt_text import proof_facts, receipt_text

    with open_log(home, is_world=is_world, name=name, only_reading=True) as log:
        found = asyncio.run(_find(log.ledger, number, is_disclosure=is_disclosure))
        if not found:
            raise Refused.because("no_such_receipt", f"There is no receipt {number}", help="See: sayso receipts list")
        click.echo(found[0].data if as_json else receipt_text(found[0]))
        if with_proof:
            proof = asyncio.run(_prove(log.ledger, number, is_disclosure=is_disclosure))
            click.echo(strictjson.encode(proof_facts(proof)))


@receipts.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_of_a_log
@click.option("--with-evidence", is_flag=True, help="Add the signed documents and key sets that receipts refer to.")
def export(file: Path, home: Path | None, is_world: bool, name: str | None, with_evidence: bool) -> None:
    """Write the whole log to FILE, for anybody to verify.

    Disclosures that still wait are sealed first. The file is yours to give away: without evidence it holds hashes and
    facts, no document and no text.
    """
    from sayso.apps.cli.receipt_log import open_log

    with open_log(home, is_world=is_world, name=name) as log:
        asyncio.run(log.ledger.seal())
        done = asyncio.run(log.ledger.export(file, with_evidence=with_evidence))
    click.echo(f"{done.records} records and {done.sealed} disclosures of {done.log} are in {file}")
    click.echo("Whoever verifies them needs this log's public key: sayso receipts checkpoint --key-out FILE")


@receipts.command()
@_of_a_log
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the checkpoint to this file.")
@click.option(
    "--key-out", type=click.Path(path_type=Path, dir_okay=False), help="Write the log's public key, and sign nothing."
)
def checkpoint(home: Path | None, is_world: bool, name: str | None, out: Path | None, key_out: Path | None) -> None:
    """Sign how far the log goes, as a note that transparency-log tools read.

    Keep it somewhere else, or give it to somebody: whoever holds it can show later that nothing before it was changed
    or cut off (sayso receipts verify --checkpoint).
    """
    from sayso.apps.cli.passphrase import read_passphrase
    from sayso.apps.cli.receipt_log import open_log, public_key, signing_key
    from sayso.proof.note import write_verifier_key

    if out is not None and key_out is not None:
        raise click.UsageError("--key-out writes the key and signs nothing: give it without --out")
    with open_log(home, is_world=is_world, name=name) as log:
        if key_out is not None:
            key_out.write_text(f"{write_verifier_key(log.ledger.log, public_key(log))}\n", encoding="utf-8")
            click.echo(f"The public key of {log.ledger.log} is in {key_out}. Publish it where others look for it.")
            return
        key = signing_key(log, lambda: read_passphrase("Passphrase of your keys: "))
        asyncio.run(log.ledger.seal())
        note = asyncio.run(log.ledger.checkpoint(key))
    if out is None:
        click.echo(note, nl=False)
    else:
        out.write_bytes(note)
        click.echo(f"The checkpoint is in {out}. Keep it away from this machine.")


@receipts.command()
@click.argument("file", type=_FILE, required=False)
@click.option("--key", "key_file", type=_FILE, help="The log's published key: a verifier key or a JWK.")
@click.option(
    "--checkpoint", "kept", type=_FILE, help="A checkpoint kept from earlier: prove that the log continues it."
)
@_of_a_log
@_json
def verify(
    file: Path | None,
    key_file: Path | None,
    kept: Path | None,
    home: Path | None,
    is_world: bool,
    name: str | None,
    as_json: bool,
) -> None:
    """Verify an exported FILE with its published key, or the log of this home.

    Recomputes every hash, link, batch, signature and checkpoint. Exit code 0: intact; 1: found bad, and the first bad
    record is named; 2: called wrongly; 3: could not judge.
    """
    from sayso.apps.cli.receipt_text import refusal_facts, refusal_text, verdict_facts, verdict_text
    from sayso.ledger.rules.verify import BROKEN

    if file is not None and key_file is None:
        raise click.UsageError("An exported file is verified with --key: the public key that its log publishes.")
    try:
        note = kept.read_bytes() if kept is not None else None
        if file is None or key_file is None:
            verdict = _verify_home(home, is_world, name, key_file, note)
        else:
            verdict = _verify_file(file, key_file, note)
    except (Refused, Corrupt) as failed:
        refusal = failed.refusal if isinstance(failed, Refused) else Refusal(code=DAMAGED, message=f"{failed}")
        is_broken = refusal.code == BROKEN
        words = refusal_text(refusal, is_broken=is_broken)
        click.echo(strictjson.encode(refusal_facts(refusal, is_broken=is_broken)) if as_json else words)
        raise click.exceptions.Exit(REFUSED if is_broken else NOT_STARTED) from None
    click.echo(strictjson.encode(verdict_facts(verdict)) if as_json else verdict_text(verdict))


async def _find(ledger: Ledger, number: int, *, is_disclosure: bool) -> Sequence[Record | Disclosure]:
    return await (ledger.disclosures if is_disclosure else ledger.records)(number, number + 1)


async def _prove(ledger: Ledger, number: int, *, is_disclosure: bool) -> DisclosureProof | RecordProof:
    return await (ledger.prove_disclosure(number) if is_disclosure else ledger.prove_record(number))


def _verify_file(file: Path, key_file: Path, note: bytes | None) -> Verdict:
    from sayso.apps.cli.receipt_log import check_owner, lines_of, read_published_key
    from sayso.ledger.rules.verify import verify_export

    published = read_published_key(key_file)
    with file.open("rb") as lines:
        verdict = verify_export(lines_of(lines), key=published.key, kept=note)
    check_owner(published, verdict.log)
    return verdict


def _verify_home(
    home: Path | None, is_world: bool, name: str | None, key_file: Path | None, note: bytes | None
) -> Verdict:
    from sayso.apps.cli.receipt_log import PublishedKey, check_owner, open_log, public_key, read_published_key

    with open_log(home, is_world=is_world, name=name, only_reading=True) as log:
        published = read_published_key(key_file) if key_file is not None else PublishedKey(public_key(log), None)
        check_owner(published, log.ledger.log)
        return asyncio.run(log.ledger.verify(published.key, kept=note))
