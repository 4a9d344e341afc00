"""The simulated internet: real hosts on loopback ports under names of their own, their people, and a clock to move."""
