"""The hub: many sessions over any mix of adapters, with journal, replay and subscriptions that never slow a run."""
