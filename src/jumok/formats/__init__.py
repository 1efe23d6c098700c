"""Formats: files that people have, as segments of text with inline markup, and back."""
