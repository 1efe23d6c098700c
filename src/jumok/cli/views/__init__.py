"""What `jumok inspect` shows, one module for each view."""
