"""Glossaries and memories: what a text and its terms should become, or became before. No torch."""
