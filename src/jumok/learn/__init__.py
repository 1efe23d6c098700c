"""The notes as notebooks that run, in English and Korean."""
