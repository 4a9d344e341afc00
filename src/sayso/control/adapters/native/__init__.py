"""What every adapter over a child process needs: a strict codec of lines, and a child driven to exactly one end."""
