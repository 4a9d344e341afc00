"""One agent loop over our own pipes, speaking raw envelopes: no registry, no subscriptions, one host."""
