"""Documents: files translated with their markup, in bounded memory, and going on after a stop."""
