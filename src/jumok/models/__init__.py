"""Ids to logits; one file is one paper."""
