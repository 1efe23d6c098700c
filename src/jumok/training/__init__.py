"""Logits to loss to better weights."""
