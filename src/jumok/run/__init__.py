"""One run from files to a model folder: the parts of the other layers, wired together."""
