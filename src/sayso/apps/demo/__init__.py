"""The main job shown message by message, over the same code and sockets that `sayso ask` uses."""
