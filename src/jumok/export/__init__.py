"""Models in the formats of other programs, each with a certificate of how well it agrees with ours."""
