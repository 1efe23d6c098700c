"""Traces over HTTP: how they are made, kept, edited and compared."""
