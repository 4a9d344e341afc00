"""`sayso host rules`: what may be answered without asking the person whose calendar it is."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.host_place import at_desk_of, desk_option
from sayso.apps.host_home import OpenDesk
from sayso.apps.own_calendar import read_signed, sign_at_desk
from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.instants import from_epoch, write_local
from sayso.core.strictjson import JsonValue
from sayso.core.zones import find_zone
from sayso.scheduling.host import signed_rules
from sayso.scheduling.host.ruling import at_rules
from sayso.scheduling.host.signed_rules import StoredRule
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.quoted import quoted
from sayso.scheduling.terms.rule import KeepRuleRequest, KeptRule, RuleDraft, WithdrawRuleRequest
from sayso.scheduling.terms.spoken import spoken_clock, spoken_day
from sayso.scheduling.tools.moments import read_moment

__all__ = ("rules",)

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@click.group()
def rules() -> None:
    """What your calendar may say yes to without asking you. A rule never says no.

    Each is signed by you, and names the one agent key that may answer by it.
    """


@rules.command(name="list")
@desk_option
def list_rules(home: Path) -> None:
    """The rules, the newest first, withdrawn ones too."""
    with at_desk_of(home) as opened:
        found = opened.store.run(lambda unit: signed_rules.newest(unit, opened.desk.host))
    for each in found:
        for line in _lines(each, opened):
            click.echo(plain(line))
    if not found:
        click.echo("None: you are asked for every yes.", err=True)


def _lines(each: StoredRule, opened: OpenDesk) -> Iterator[str]:
    claims, zone = each.rule.claims, find_zone(opened.config.timezone)
    stands = "until you withdraw it"
    if claims.exp is not None:
        ends = from_epoch(claims.exp)
        is_over = ends <= opened.clock.now()
        stands = f"{'ended' if is_over else 'until'} {spoken_day(ends, zone)} at {spoken_clock(ends, zone)}"
    if each.withdrawn_at is not None:
        stands = f"withdrawn {spoken_day(each.withdrawn_at, zone)} at {spoken_clock(each.withdrawn_at, zone)}"
    yield f"{claims.jti}  {quoted(claims.words)}, {stands}"
    yield f"    {claims.consent.statement}"


@rules.command()
@click.argument("words", required=False)
@click.option("--service", "services", multiple=True, metavar="ID", help="Only this service; may be repeated.")
@click.option("--on", "weekdays", multiple=True, type=click.Choice(_DAYS), help="Only this weekday; may be repeated.")
@click.option("--from", "organisers", multiple=True, metavar="PRINCIPAL", help="Only this person; may be repeated.")
@click.option("--until", metavar="MOMENT", help="When it ends (2026-12-31T18:00, your calendar's time).")
@click.option("--agent", metavar="KEY", help="The thumbprint of the key that may answer; the home's agent unless told.")
@click.option("--draft", is_flag=True, help="Print what is to be signed, and sign nothing.")
@click.option("--signed", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A rule signed elsewhere.")
@desk_option
def add(
    words: str | None,
    services: tuple[str, ...],
    weekdays: tuple[str, ...],
    organisers: tuple[str, ...],
    until: str | None,
    agent: str | None,
    signed: Path | None,
    home: Path,
    *,
    draft: bool,
) -> None:
    """Sign a rule and keep it. WORDS are yours: "Weekend playdates with my contacts".

    Where your key is elsewhere: print it with --draft, sign it there with sayso keyapp approve, bring it with --signed.
    """
    with at_desk_of(home) as opened:
        if signed is None:
            if words is None:
                raise click.UsageError("say in your own words what the rule is for")
            limits = {"services": services, "weekdays": weekdays, "organisers": organisers}
            data = _draft(opened, words, until, agent, {name: each for name, each in limits.items() if each})
            if draft:
                click.echo(data.decode())
                return
            token = asyncio.run(sign_at_desk(opened, sys.stdout, data))
        else:
            token = read_signed(signed)
        request = KeepRuleRequest(idempotency_key=SystemIds().new("i"), rule=token)
        kept = cast(KeptRule, opened.store.run(lambda unit: at_rules(unit, opened.desk, request)))
    click.echo(plain(f"{kept.rule_id} is kept. What it says yes to, you may see only afterwards."))


def _draft(
    opened: OpenDesk, words: str, until: str | None, agent: str | None, limits: dict[str, tuple[str, ...]]
) -> bytes:
    keeper = opened.desk.keeper
    named = agent or (None if keeper is None else keeper.public.thumbprint)
    if named is None:
        raise refused("rule_invalid", "Only a person's calendar keeps rules.")
    members: dict[str, JsonValue] = {"host": opened.desk.host, "agent": named, "words": words}
    if until is not None:
        zone = find_zone(opened.config.timezone)
        members["expires"] = write_local(read_moment(until, zone, "until"), zone)
    members |= {name: list(each) for name, each in limits.items()}
    return strictjson.encode(strictjson.decode(strictjson.encode(members), RuleDraft))


@rules.command()
@click.argument("rule")
@desk_option
def withdraw(rule: str, home: Path) -> None:
    """Let nothing be answered by RULE from now on. What it said yes to stays booked."""
    request = WithdrawRuleRequest(idempotency_key=SystemIds().new("i"))
    with at_desk_of(home) as opened:
        opened.store.run(lambda unit: at_rules(unit, opened.desk, request, rule))
    click.echo(plain(f"{rule} is withdrawn. You are asked again."))
