"""Training from the page: pairs that a client sends become a run of `jumok train` and a served model."""
