"""One folder per model or saved step: safetensors, JSON and a manifest; atomic, versioned, verified."""
