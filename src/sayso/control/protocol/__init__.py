"""The Open Agent Protocol: envelopes, payloads, codes and the one legality machine; bytes and values only, no I/O."""
