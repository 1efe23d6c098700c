"""The HTTP edge: translation, traces, runs and the explorer's page."""
