"""A console on a real house: its own home with keys, a store, a gate, agents, and a browser's side of HTTP."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio
import httpx2

from sayso.apps.console.app import console_app
from sayso.apps.console.desk import Desk, with_the_house
from sayso.apps.console.passwords import FAST, Passwords
from sayso.apps.console.users import Role, add_user
from sayso.apps.keys import AGENT, LEDGER, PRINCIPAL, make_keys
from sayso.core import strictjson
from sayso.core.clock import ManualClock
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.gateway.guard.agents import Agents, standing_of
from sayso.gateway.guard.rules.limits import Limits
from sayso.gateway.knowledge.acts import register as register_knowledge
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.gateway.tasks import Tasks
from sayso.governance.acts import Act, ActClass, Registry, Repeats
from sayso.governance.consent import Answer, Consent, Evidence, Question
from sayso.governance.constitution import Constitution
from sayso.governance.execution import Executor
from sayso.governance.gate import Gate
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Ask, Proposal
from sayso.ledger.ledger import Ledger
from sayso.net.edge import LOOPBACK_HOSTS
from sayso.net.listen import serving
from sayso.proof.hashes import sha256_b64u
from sayso.proof.sealed import Cost
from sayso.scheduling.keyapp.app import KeyApp
from sayso.scheduling.terms.draft import DRAFT_MEDIA_TYPE
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.store.open import open_store
from sayso.store.vault import Vault
from sayso.testing.gateway import Notes, Text, register_toys
from sayso.testing.store import START, fresh_file
from tests.scheduling.guest.hostile import HostileFetcher
from tests.scheduling.host.town import open_town_on_file
from tests.scheduling.keyapp.test_app import LIMITS

PASSPHRASE = "the cat sat on it"
PASSWORD = "correct horse battery"
CHEAP = Cost(memory_kib=64, passes=1, lanes=1)
PASSWORDS = Passwords(FAST)
TOKEN = re.compile(r'action="([^"]+)"[^>]*>\s*<input type="hidden" name="form_token" value="([^"]+)"')


BOOK, MIDWAY = "book_oil_change", "order_then_ask"


class AsksForLimits:
    """The smallest consent source: an act on a real host needs limits that the person signed."""

    def __init__(self, agent: str) -> None:
        self.document = strictjson.encode({**LIMITS, "agent": agent})
        self.question = Question(
            kind="limits", title="Limits", text="", document=self.document, media_type=DRAFT_MEDIA_TYPE
        )

    async def consent(self, act_name: str, arguments: object, answers: Sequence[Answer]) -> Consent | Question | None:
        if act_name not in (BOOK, MIDWAY) or (act_name == MIDWAY and not answers):
            return None
        if not answers:
            return self.question
        if not answers[0].granted or answers[0].document is None:
            raise Refused.because("consent_refused", "The person said no")
        found = verify_mandate(answers[0].document)
        return Consent(
            by=found.claims.iss,
            evidence=Evidence.SIGNED_LIMITS,
            subject_sha256=sha256_b64u(self.document),
            mode=found.claims.consent.mode,
            document=answers[0].document,
            document_sha256=found.sha256,
        )


def register_booking(registry: Registry, notes: Notes, asks: AsksForLimits) -> None:
    """An act that touches others, and one that finds midway that it needs a signature."""

    async def book(arguments: Text, consent: Consent | None) -> dict[str, object]:
        notes.called.append(arguments.text)
        return {"booked": True}

    act = Act(
        name=BOOK, act_class=ActClass.EXECUTION, title="Book an oil change", description="Books at a garage.",
        arguments=Text, touches_others=True, repeats=Repeats.IDEMPOTENT,
    )  # fmt: skip
    registry.register(act, book)

    async def order(arguments: Text, consent: Consent | None) -> dict[str, object] | Question:
        if consent is None or consent.evidence is not Evidence.SIGNED_LIMITS:
            return asks.question
        notes.called.append(arguments.text)
        return {"ordered": arguments.text}

    later = Act(
        name=MIDWAY, act_class=ActClass.EXECUTION, title="Order a part", description="Orders, and asks midway.",
        arguments=Text, touches_others=False, repeats=Repeats.IDEMPOTENT,
    )  # fmt: skip
    registry.register(later, order)


async def propose(desk: Desk, act: str = "take_note", text: str = "milk", agent: str = "agent_x") -> Proposal:
    """A proposal in the queue, as a door files it."""
    scopes = frozenset({"mcp", "propose"})
    ask = Ask(agent=agent, owner=desk.owner, door="mcp", act=act, arguments={"text": text}, scopes=scopes)
    return await desk.gate.file(desk.gate.prepare(ask))


@asynccontextmanager
async def carrying_out(desk: Desk) -> AsyncIterator[None]:
    """What is approved is carried out while the block runs."""
    executor = Executor(store=desk.store, gate=desk.gate, clock=desk.clock, worker="w")
    async with anyio.create_task_group() as group:
        group.start_soon(executor.run)
        yield
        group.cancel_scope.cancel()


async def until(desk: Desk, proposal_id: str, state: ProposalState) -> Proposal:
    """The proposal once it is in this state."""
    found = await desk.gate.find(proposal_id)
    while found.state is not state:
        found = await desk.gate.wait(proposal_id, found.moves)
    return found


@asynccontextmanager
async def open_desk(
    folder: Path, *, locked: bool = True, clock: ManualClock | None = None, reachable: bool = True
) -> AsyncIterator[Desk]:
    """A desk on a home in `folder`, whose keys are under `PASSPHRASE` where `locked`.

    The garage it books at answers on loopback; unless it is `reachable`, nobody can ask it who it is.
    """
    clock = clock or ManualClock(START)
    ids = SystemIds()
    vault = Vault(folder, clock, cost=CHEAP)
    if not vault.names():
        make_keys(vault, PASSPHRASE if locked else None)
        fresh_file(folder / "sayso.db")
    owner = principal_urn(vault.public(PRINCIPAL))
    with open_store(folder / "sayso.db", clock) as store:
        elsewhere = folder.parent / "garage"
        elsewhere.mkdir(exist_ok=True)
        async with (
            open_town_on_file(elsewhere, clock) as garage,
            HostileFetcher(garage.port if reachable else 1) as fetcher,
        ):
            ledger = Ledger(store, "sayso/test", clock)
            agent = vault.public(AGENT).thumbprint
            registry = Registry()
            register_toys(registry, Notes())
            asks = AsksForLimits(agent)
            register_booking(registry, Notes(), asks)

            knowledge = Knowledge(store, ledger, owner=owner, clock=clock, ids=ids)
            register_knowledge(registry, knowledge)
            yield Desk(
                owner=owner,
                title="Ada's house",
                zone=ZoneInfo("America/Toronto"),
                clock=clock,
                ids=ids,
                store=store,
                ledger=ledger,
                ledger_key=vault.public(LEDGER),
                registry=registry,
                gate=Gate(
                    store=store,
                    ledger=ledger,
                    registry=registry,
                    sources=[asks],
                    constitution=Constitution.load(),
                    owner=owner,
                    clock=clock,
                    ids=ids,
                    standing=with_the_house(standing_of(owner)),
                ),
                agents=Agents(store, ledger, owner, clock, ids),
                tasks=Tasks(store, ledger, knowledge.memory, owner, ids, knowledge.domains),
                knowledge=knowledge,
                limits=Limits(),
                vault=vault,
                key=PRINCIPAL,
                open_key_app=lambda: KeyApp(vault, fetcher, clock, ids, name=PRINCIPAL, agent=agent),
            )


async def add(desk: Desk, name: str = "ada", role: Role = "owner") -> None:
    """A user with `PASSWORD`."""
    secret = PASSWORDS.secret(PASSWORD)
    await desk.store.unit(lambda unit: add_user(unit, desk.ledger, desk.owner, name, role, secret, by=desk.owner))


@dataclass
class Browser:
    """As much of a browser as a form needs: cookies, the Origin it sends, and the token of each form it was shown."""

    client: httpx2.AsyncClient
    origin: str

    def __post_init__(self) -> None:
        self.page = ""
        self.tokens: dict[str, str] = {}

    async def open(self, path: str, **headers: str) -> httpx2.Response:
        """A page, as a person who clicks sees it."""
        return self._seen(await self.client.get(path, headers=headers))

    async def send(self, action: str, *, follow: bool = False, **fields: object) -> httpx2.Response:
        """Sends the form of the page last seen whose address this is."""
        typed = {"form_token": self.tokens.get(action, ""), **fields}
        answer = await self.client.post(action, data=typed, headers={"origin": self.origin}, follow_redirects=follow)
        return self._seen(answer)

    async def sign_in(self, name: str = "ada", password: str = PASSWORD) -> httpx2.Response:
        await self.open("/sign-in")
        return await self.send("/sign-in", name=name, password=password)

    def _seen(self, answer: httpx2.Response) -> httpx2.Response:
        if answer.headers.get("content-type", "").startswith("text/html"):
            self.page = answer.text
            self.tokens = {found[0]: found[1] for found in TOKEN.findall(answer.text)}
        return answer


@asynccontextmanager
async def browsing(desk: Desk) -> AsyncIterator[Browser]:
    """The console served on loopback, and a browser at it."""
    app = console_app(desk, hosts=LOOPBACK_HOSTS, passwords=PASSWORDS)
    async with (
        serving(app, grace=0.2) as address,
        httpx2.AsyncClient(base_url=address.url, trust_env=False) as client,
    ):
        yield Browser(client, address.url)
