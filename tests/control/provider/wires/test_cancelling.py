"""A cancel settles as aborted and closes the connection, wherever the inference is just then (OAP-132)."""

from __future__ import annotations

from contextlib import aclosing

import anyio
import pytest

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.inference import InferenceCompleted
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers import VENDORS, Said, Stream
from tests.control.provider.wires.bench import ALL, PATIENCE, Bench, Heard, ask, open_bench

pytestmark = pytest.mark.anyio
every_wire = pytest.mark.parametrize("wire", ALL)
TURN = Said([Think("hm", "t"), Say("one", "two"), Call("look", {"a": 1}, "c1")])


async def cancelled_after(bench: Bench, count: int) -> Heard:
    """Cancels once the envelope of this number was heard."""
    seen: list[ProviderEnvelope[Wire]] = []
    async with anyio.create_task_group() as tasks:

        def look(envelope: ProviderEnvelope[Wire]) -> None:
            seen.append(envelope)
            if len(seen) == count:
                tasks.start_soon(bench.cancel, envelope.inference_id)

        return await bench.infer(each=look)


@every_wire
@pytest.mark.req("OAP-132")
async def test_a_cancel_in_a_silent_stream_closes_the_connection(wire: str) -> None:
    """The vendor sees the client go, before anything else is asked of it; what ended is in the message."""
    frames = VENDORS[wire].stream(TURN)[:-1]
    async with open_bench(wire, [Stream(frames, hangs=True)]) as bench:
        heard = await cancelled_after(bench, 4)
        with anyio.fail_after(PATIENCE):
            await bench.server.gone.wait()
    assert (heard.stop_reason, heard.types[-1]) == ("aborted", "completed")


@every_wire
@pytest.mark.req("OAP-132")
async def test_a_cancel_before_the_first_byte_closes_the_connection(wire: str) -> None:
    """The vendor thinks, and has sent nothing but its head."""
    async with open_bench(wire, [Stream([], hangs=True)]) as bench:
        heard = await cancelled_after(bench, 2)
        with anyio.fail_after(PATIENCE):
            await bench.server.gone.wait() if bench.server.received else None
    assert heard.types == ["create.response", "started", "completed"]
    assert heard.stop_reason == "aborted"


@every_wire
@pytest.mark.req("OAP-131", "OAP-132")
async def test_a_cancel_at_any_moment_settles_once(wire: str) -> None:
    """After each envelope in turn: one terminal, legal whatever was open, and either aborted or already done."""
    async with open_bench(wire, [TURN]) as bench:
        total = len((await bench.infer()).envelopes)
    for count in range(1, total + 1):
        async with open_bench(wire, [TURN]) as bench:
            heard = await cancelled_after(bench, count)
        assert heard.types[-1] == "completed"
        assert heard.stop_reason in ("aborted", "tool_use")
        assert heard.types.count("completed") == 1


@every_wire
@pytest.mark.req("OAP-131", "OAP-132")
async def test_a_cancel_that_comes_too_late_or_names_nothing_is_not_accepted(wire: str) -> None:
    """A settled inference, and one nobody knows."""
    async with open_bench(wire, [TURN]) as bench:
        heard = await bench.infer()
        assert not await bench.cancel(str(heard.state.inference_id))
        assert not await bench.cancel("nobody")


@every_wire
@pytest.mark.req("OAP-132")
async def test_whoever_stops_listening_closes_the_connection(wire: str) -> None:
    """Closing the iterator early, and being cancelled while it waits, both release what it holds."""
    frames = VENDORS[wire].stream(TURN)[:-1]
    for is_cancelled in (False, True):
        async with open_bench(wire, [Stream(frames, hangs=True)]) as bench:
            with anyio.fail_after(PATIENCE):
                if is_cancelled:
                    await _cancel_the_listener(bench)
                else:
                    async with aclosing(bench.provider.create(ask())) as stream:
                        async for envelope in stream:
                            if envelope.type == "inference.part.started":
                                break
                await bench.server.gone.wait()


async def _cancel_the_listener(bench: Bench) -> None:
    async with anyio.create_task_group() as tasks, aclosing(bench.provider.create(ask())) as stream:
        async for envelope in stream:
            if envelope.type == "inference.part.started":
                tasks.cancel_scope.cancel()


@every_wire
@pytest.mark.req("OAP-131", "OAP-132")
async def test_inferences_side_by_side_stop_apart(wire: str) -> None:
    """Cancelling one leaves the other alone, with a sequence of its own."""
    hanging = Stream(VENDORS[wire].stream(TURN)[:-1], hangs=True)
    async with open_bench(wire, [hanging, TURN]) as bench:
        stopped: list[Heard] = []

        async def first() -> None:
            stopped.append(await bench.infer(each=watch))

        began = anyio.Event()
        names: list[str] = []

        def watch(envelope: ProviderEnvelope[Wire]) -> None:
            if envelope.type == "inference.part.started" and not names:
                names.append(str(envelope.inference_id))
                began.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await began.wait()
            whole = await bench.infer(ask(name="q2"))
            assert await bench.cancel(names[0])
    assert (whole.stop_reason, stopped[0].stop_reason) == ("tool_use", "aborted")
    assert isinstance(stopped[0].end, InferenceCompleted)
    assert whole.end.message is not UNSET
