"""The contestants of cpu_decoding.py, their work and their measuring; each runs in a process of its own."""
