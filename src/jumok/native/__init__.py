"""The native engine: models in plain C, called through ctypes. No torch."""
