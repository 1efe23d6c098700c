"""Models of other programs to model folders of jumok. Nothing in them is executed."""
