"""Random lives of a small shop: holds, confirms, moves, waiting, new keys, edited policies, lost answers, time passing.

Played through the same unit of work as a request (`admission.admit`), on a real database, with real mandates. What has
to hold after every step stands in the invariants.
"""

import tempfile
from collections import Counter
from datetime import timedelta
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule
from msgspec.structs import replace

from sayso.core import strictjson
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.instants import parse_instant, write_instant
from sayso.proof.hashes import sha256, sha256_b64u
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.admission import admit
from sayso.scheduling.host.bookings import own_offer, own_receipt
from sayso.scheduling.host.call import Call
from sayso.scheduling.host.desk import open_desk
from sayso.scheduling.host.http import ROUTES
from sayso.scheduling.rules.spans import micros
from sayso.scheduling.terms.codes import BY_REASON
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.participant_checks import check_answers
from sayso.scheduling.terms.reconfirm import ReconfirmPolicy
from sayso.store.statements import statement
from sayso.store.tables.scheduling import host_allocation, host_booking, host_change, host_hold, host_waitlist
from sayso.testing.store import START, fresh_store
from tests.scheduling.host.company import coming, not_coming
from tests.scheduling.host.town import HOST_KEY, Guest, one_bay

QUARTERS = st.integers(0, 36).map(lambda n: parse_instant("2026-10-15T12:00:00Z") + n * timedelta(minutes=15))
INVITATIONS = st.fixed_dictionaries(
    {"answer_within": st.sampled_from(["PT1M", "PT1H", "P1D"]), "silence": st.sampled_from(["yes", "no"])}
)
REPLIES = st.sampled_from(["yes", "later", "no"])
SILENCES = (None, "lapses", "stands")
SERVICES = st.sampled_from(["oil-change", "winter-tires", "brake-diagnosis"])
WEEK = {"not_before": "2026-10-14T00:00:00-04:00", "not_after": "2026-10-17T00:00:00-04:00"}


class Shop(RuleBasedStateMachine):
    """One bay and one technician, three people, any order of things."""

    holds = Bundle("holds")
    bookings = Bundle("bookings")
    offers = Bundle("offers")
    entries = Bundle("entries")

    @initialize()
    def open(self):
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ManualClock(START)
        self.store = fresh_store(Path(self.folder.name), self.clock)
        self.minted = CountingIds()
        self.desk = open_desk(one_bay(), HOST_KEY, self.minted)
        self.people = [PrivateKey.from_seed(bytes([n]) * 32) for n in (1, 2, 3)]
        self.agents = [PrivateKey.from_seed(bytes([n]) * 32) for n in (11, 12, 13)]
        self.ids = CountingIds()
        self.sent = []
        self.mandates = {}

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    def guest(self, who):
        return Guest(None, self.people[who], self.agents[who], self.clock)

    def mandate(self, who):
        """A mandate of three bookings, renewed when it has run out."""
        token, until = self.mandates.get(who, ("", START))
        if self.clock.now() >= until:
            token = self.guest(who).mandate(
                constraints={
                    "services": ["oil-change", "winter-tires", "brake-diagnosis"],
                    "window": WEEK,
                    "max_price": {"amount": "500.00", "currency": "CAD"},
                    "max_bookings": 3,
                }
            )
            self.mandates[who] = (token, self.clock.now() + timedelta(hours=1))
        return token

    def send(self, who, method, path, mandate, request, **named):
        """One request through its unit of work; what it is answered."""
        body = b"" if request is None else strictjson.encode(request)
        filled = path.format(**named)
        self.sent.append((who, method, path, mandate, request, named))
        operation = ROUTES[path][method]
        call = Call(
            agent=self.agents[who].public.thumbprint,
            nonce=self.ids.token(),
            nonce_until=self.clock.now() + timedelta(seconds=70),
            operation=f"{method} {filled}",
            body_sha256=sha256(body),
            mandate_sha256=sha256(mandate.encode()),
            named=named,
            request=strictjson.decode(body or b"{}", operation.request),
            presented=verify_mandate(mandate),
        )
        answer = self.store.run(lambda unit: admit(unit, self.desk, operation, call))
        read = strictjson.parse(answer.body)
        assert answer.status < 500
        if answer.status >= 400:
            assert BY_REASON[read["refusal"]["reason"]].status == answer.status
            return None
        return read

    @rule(target=holds, who=st.integers(0, 2), service=SERVICES, start=QUARTERS)
    def hold(self, who, service, start):
        request = {
            "idempotency_key": self.ids.new("i"),
            "service_id": service,
            "start": write_instant(start),
            "ttl": "PT5M",
        }
        mandate = self.mandate(who)
        held = self.send(who, "POST", "/holds", mandate, request)
        return multiple() if held is None else (who, mandate, held)

    @rule(target=bookings, one=holds)
    def confirm(self, one):
        who, mandate, held = one
        request = {"idempotency_key": self.ids.new("i"), "offer_sha256": sha256_b64u(held["offer"])}
        path = "/holds/{hold_id}/confirm"
        settled = self.send(who, "POST", path, mandate, request, hold_id=held["hold_id"])
        return multiple() if settled is None else (who, settled["booking"])

    @rule(target=bookings, who=st.integers(0, 2), service=SERVICES, start=QUARTERS)
    def book(self, who, service, start):
        held = self.hold(who, service, start)
        return held if held == multiple() else self.confirm(held)

    @rule(
        target=bookings,
        who=st.integers(0, 2),
        service=SERVICES,
        start=QUARTERS,
        terms=INVITATIONS,
        first=REPLIES,
        second=REPLIES,
    )
    def ask_along(self, who, service, start, terms, first, second):
        """A booking with company: the two others, of whom one need not answer, on some terms; what they say at once."""
        others = [each for each in (0, 1, 2) if each != who]
        named = [
            {"principal": self.guest(each).principal, "name": f"Person {each}", "required": each != 2}
            for each in others
        ]
        request = {
            "idempotency_key": self.ids.new("i"),
            "service_id": service,
            "start": write_instant(start),
            "ttl": "PT5M",
            "participants": named,
            "invitation": terms,
        }
        mandate = self.mandate(who)
        held = self.send(who, "POST", "/holds", mandate, request)
        booked = multiple() if held is None else self.confirm((who, mandate, held))
        for each, reply in zip(others, (first, second), strict=True):
            if booked != multiple() and reply != "later":
                self.answer(booked, each, reply)
        return booked

    @rule(one=bookings, who=st.integers(0, 2), said=st.sampled_from(["yes", "yes", "no"]))
    def answer(self, one, who, said):
        """Anybody answers anybody's booking, by the contract it stands on now, under a mandate of their own."""
        _, booking = one
        (offer,) = [row["offer"] for row in self.all(host_booking) if row["booking_id"] == booking["booking_id"]]
        person, change = self.guest(who), own_offer(offer).change
        bookings = () if change is None else (booking["booking_id"],)
        mandate = coming(person, offer, *bookings) if said == "yes" else not_coming(person, offer)
        request = {"idempotency_key": self.ids.new("i"), "offer_sha256": sha256_b64u(offer), "answer": said}
        path = "/bookings/{booking_id}/answer"
        self.send(who, "POST", path, mandate, request, booking_id=booking["booking_id"])

    @rule(target=offers, one=bookings, start=QUARTERS)
    def move(self, one, start):
        offered = self.ask_change(one, start)
        if offered != multiple():
            self.accept_change(offered)
        return offered

    @rule(one=holds)
    def release(self, one):
        who, mandate, held = one
        request = {"idempotency_key": self.ids.new("i")}
        self.send(who, "POST", "/holds/{hold_id}/release", mandate, request, hold_id=held["hold_id"])

    def managing(self, who, booking):
        return self.guest(who).managing(
            booking["booking_id"], window=WEEK, max_price={"amount": "500.00", "currency": "CAD"}
        )

    @rule(one=bookings)
    def cancel(self, one):
        who, booking = one
        request = {"idempotency_key": self.ids.new("i")}
        path = "/bookings/{booking_id}/cancel"
        self.send(who, "POST", path, self.managing(who, booking), request, booking_id=booking["booking_id"])

    @rule(target=offers, one=bookings, start=QUARTERS)
    def ask_change(self, one, start):
        who, booking = one
        request = {"idempotency_key": self.ids.new("i"), "start": write_instant(start), "ttl": "PT5M"}
        path = "/bookings/{booking_id}/changes"
        found = self.send(who, "POST", path, self.managing(who, booking), request, booking_id=booking["booking_id"])
        return multiple() if found is None else (who, booking, found)

    @rule(one=offers)
    def accept_change(self, one):
        who, booking, offer = one
        request = {"idempotency_key": self.ids.new("i"), "offer_sha256": sha256_b64u(offer["offer"])}
        path = "/bookings/{booking_id}/changes/{offer_id}/accept"
        named = {"booking_id": booking["booking_id"], "offer_id": offer["offer_id"]}
        self.send(who, "POST", path, self.managing(who, booking), request, **named)

    @rule(one=consumes(offers))
    def abandon_change(self, one):
        who, booking, offer = one
        path = "/bookings/{booking_id}/changes/{offer_id}/abandon"
        named = {"booking_id": booking["booking_id"], "offer_id": offer["offer_id"]}
        self.send(who, "POST", path, self.managing(who, booking), {"idempotency_key": self.ids.new("i")}, **named)

    @rule(target=entries, who=st.integers(0, 2), service=SERVICES, start=QUARTERS, hours=st.integers(1, 4))
    def join(self, who, service, start, hours):
        window = {"start": write_instant(start), "end": write_instant(start + timedelta(hours=hours))}
        request = {"idempotency_key": self.ids.new("i"), "service_id": service, "window": window}
        mandate = self.mandate(who)
        entry = self.send(who, "POST", "/waitlist", mandate, request)
        return multiple() if entry is None else (who, mandate, entry)

    @rule(target=bookings, one=entries)
    def take_up(self, one):
        """A waiter looks, and confirms what is held for them."""
        who, mandate, entry = one
        seen = self.send(who, "GET", "/waitlist/{entry_id}", mandate, None, entry_id=entry["entry_id"])
        if seen is None or seen.get("hold", {}).get("status") != "held":
            return multiple()
        return self.confirm((who, mandate, seen["hold"]))

    @rule(one=consumes(entries))
    def leave(self, one):
        who, mandate, entry = one
        request = {"idempotency_key": self.ids.new("i")}
        self.send(who, "POST", "/waitlist/{entry_id}/leave", mandate, request, entry_id=entry["entry_id"])

    @rule(who=st.integers(0, 2), key=st.integers(20, 200))
    def change_agent(self, who, key):
        """The same person with another agent: what the old one began is not the new one's."""
        self.agents[who] = PrivateKey.from_seed(bytes([key]) * 32)
        self.mandates.pop(who, None)

    @rule(one=bookings, said=st.sampled_from(["yes", "yes", "no"]))
    def reconfirm(self, one, said):
        """The booker says again that they come, or not: asked or unasked, in time or not."""
        who, booking = one
        (offer,) = [row["offer"] for row in self.all(host_booking) if row["booking_id"] == booking["booking_id"]]
        named = {"services": None, "max_bookings": None, "bookings": [booking["booking_id"]]}
        mandate = self.guest(who).mandate(constraints=named, scope=["book", "reschedule"])
        request = {"idempotency_key": self.ids.new("i"), "offer_sha256": sha256_b64u(offer), "answer": said}
        path = "/bookings/{booking_id}/reconfirm"
        self.send(who, "POST", path, mandate, request, booking_id=booking["booking_id"])

    @rule(
        minutes=st.sampled_from([1, 3, 10]),
        closed=st.sampled_from(["never", "always"]),
        silence=st.sampled_from(SILENCES),
    )
    def edit_policies(self, minutes, closed, silence):
        """The host changes its mind: what was agreed before stands as it was."""
        asks = None if silence is None else ReconfirmPolicy(opens="PT40H", due="PT10H", silence=silence)
        config = one_bay(closed_mandate=closed, reconfirm=asks)
        holds = replace(config.policies.holds, ttl_max=f"PT{minutes}M")
        self.desk = open_desk(replace(config, policies=replace(config.policies, holds=holds)), HOST_KEY, self.minted)

    @rule(which=st.integers(0, 1000))
    def say_it_again(self, which):
        """The answer was lost: the same bytes once more, at some later time."""
        if self.sent:
            who, method, path, mandate, request, named = self.sent[which % len(self.sent)]
            self.send(who, method, path, mandate, request, **named)

    @rule(minutes=st.sampled_from([0, 0, 1, 1, 4, 5, 61, 1200]))
    def wait(self, minutes):
        self.clock.advance(timedelta(minutes=minutes))

    def all(self, table):
        """Every row of a table, by column."""
        names = [column.name for column in table.columns]
        rows = self.store.read(lambda view: view.all(statement(table.select())))
        return [dict(zip(names, row, strict=True)) for row in rows]

    @invariant()
    def no_seat_is_taken_twice(self):
        """Invariant I-07: of any two live rows on one seat that overlap, both belong to one booking."""
        now = micros(self.clock.now())
        live = [row for row in self.all(host_allocation) if row["expires_us"] is None or row["expires_us"] > now]
        for one, other in combinations(live, 2):
            if one["seat"] == other["seat"] and one["family"] != other["family"]:
                assert one["end_us"] <= other["start_us"] or other["end_us"] <= one["start_us"]

    @invariant()
    def what_occupies_time_is_exactly_what_is_held_booked_or_offered(self):
        """No row is left behind, none is missing: two seats for each, one for a drop-off.

        An appointment that is over keeps what is left of its time, which is its buffer.
        """
        allocations = Counter(row["owner"] for row in self.all(host_allocation))
        owners = {row["hold_id"] for row in self.all(host_hold) if row["state"] == "held"}
        owners |= {row["owner"] for row in self.all(host_booking) if row["state"] in ("confirmed", "tentative")}
        owners |= {row["offer_id"] for row in self.all(host_change) if row["state"] == "offered"}
        over = {row["owner"] for row in self.all(host_booking) if row["state"] == "completed"}
        assert owners <= set(allocations) <= owners | over
        assert set(allocations.values()) <= {1, 2}

    @invariant()
    def nobody_has_more_than_their_mandate_allows(self):
        """Three live holds, bookings and waits at most under each mandate."""
        now = micros(self.clock.now())
        held = [row for row in self.all(host_hold) if row["state"] == "held" and row["expires_us"] > now]
        booked = [row for row in self.all(host_booking) if row["state"] not in ("cancelled", "declined", "expired")]
        waiting = [row for row in self.all(host_waitlist) if row["state"] == "waiting"]
        used = Counter((row["principal"], row["mandate"]) for row in (*held, *booked, *waiting))
        assert not used or max(used.values()) <= 3

    @invariant()
    def nothing_is_settled_over_a_required_participants_head(self):
        """Status and answers agree in every newest receipt: a yes that is missing is waited for, a no ends it."""
        for row in self.all(host_booking):
            shown = own_receipt(row["receipt"]).booking
            check_answers(shown)
            assert shown.status == row["state"]

    @invariant()
    def silence_ends_only_what_its_contract_lets_it_end(self):
        """Not before the stated moment, and not over a second yes."""
        for row in self.all(host_booking):
            shown = own_receipt(row["receipt"]).booking
            if shown.unreconfirmed:
                terms = own_offer(row["offer"]).reconfirm
                assert (shown.status, shown.reconfirmed, terms.silence) == ("expired", None, "lapses")
                assert parse_instant(terms.by) <= self.clock.now()

    @invariant()
    def an_entry_is_offered_exactly_while_its_hold_is_held(self):
        """And taken, left or lapsed as that hold ended."""
        holds = {row["hold_id"]: row["state"] for row in self.all(host_hold)}
        ends = {"offered": "held", "taken": "confirmed", "left": "released", "lapsed": "expired"}
        for entry in self.all(host_waitlist):
            if entry["hold_id"] is not None:
                assert holds[entry["hold_id"]] == ends[entry["state"]]


Shop.TestCase.settings = settings(max_examples=40, stateful_step_count=60, deadline=None)
TestShop = pytest.mark.req("SCH-127", "SCH-387", "SCH-239")(Shop.TestCase)
