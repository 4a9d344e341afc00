"""The host's decisions about time, pure: what is free, who gets it, and what a hold, booking or change may become."""
