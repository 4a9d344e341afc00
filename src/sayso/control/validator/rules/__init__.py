"""What only a whole trace shows: what an endpoint promised, and whether it kept it; a file a subject, all pure."""
