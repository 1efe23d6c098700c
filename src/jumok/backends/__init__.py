"""How a model's ops are computed: plain torch, Triton kernels on a GPU, C on a CPU; and a recording one."""
