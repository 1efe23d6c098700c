"""Pictures as numbers. No torch."""
