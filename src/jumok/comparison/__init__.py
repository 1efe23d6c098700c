"""Several runs as one experiment: what each generation can and cannot do."""
