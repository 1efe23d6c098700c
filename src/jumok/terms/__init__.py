"""Glossaries: terms, where a text has them, and what they should become. No torch."""
