"""Measures how good translations are."""
