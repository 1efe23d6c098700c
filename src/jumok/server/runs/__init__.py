"""Training runs and evaluations over HTTP, read from their files."""
