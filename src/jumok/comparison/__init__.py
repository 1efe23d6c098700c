"""Several models trained on equal terms, measured, and compared in one report."""
