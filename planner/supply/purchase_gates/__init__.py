"""What holds back purchases of a pool for a while: its lock, its cool-down and its breaker. Pure."""
