"""What every request passes: limits, host, origin, key and body checks, and the problems they answer with."""
