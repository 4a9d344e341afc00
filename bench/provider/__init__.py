"""What the provider layer adds to an answer, beside LiteLLM's proxy, in one run.

    python -m bench.provider [--quick] [--litellm DIR] [--json FILE]

A model of the fixture vendor (OpenAI's chat wire, streaming, one sentence in sixteen pieces sent at once) is asked 100
times a second, evenly, whether or not the last answer has come: straight, through `sayso serve provider --http`,
through the same layer inside the asking process, and through LiteLLM's proxy. One client program, the same question;
each server is one process, and while one has its turn the others are stopped. What counts is the time from sending a
request until its answer is whole, less what the straight way takes in the same round. Then the same 20 times a second,
for whoever does not keep up with 100: there, waiting in line is most of what is measured.

The HTTP client that our layer asks with (httpx2) has a row of its own: what it adds alone, nobody in process can avoid.

litellm    installed into an environment of its own, one worker, nothing kept, no keys, no callbacks, its log at errors,
           its price list from its own package: the least it can have.
"""

from __future__ import annotations


def measure(*, quick: bool = False) -> list[dict[str, object]]:
    """Every table; what they need is loaded here, since the servers that are measured need none of it."""
    from bench.provider import tables

    return tables.measure(quick=quick)
