"""The maths: torch only, knows nothing of text, configuration or models."""
