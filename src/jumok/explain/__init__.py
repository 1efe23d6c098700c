"""Why this output."""
