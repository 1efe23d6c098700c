"""Triton kernels, each with a plain torch twin; nothing here imports Triton before a kernel is called."""
