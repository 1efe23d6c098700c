"""Pages without a server: the explorer, the engine as WebAssembly and models in one folder of files."""
