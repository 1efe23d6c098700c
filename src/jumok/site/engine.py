"""The C engine as WebAssembly: two packed files beside this module, which `scripts/make_wasm.py` builds."""

from pathlib import Path

HERE = Path(__file__).parent
ENGINES = {"engine-simd.wasm.gz": ["-msimd128"], "engine.wasm.gz": []}
"""The files and the instructions that each needs; a page takes the first that its browser can run."""
EXPORTS = (
    *("malloc", "free", "jm_version", "jm_model_new", "jm_model_free", "jm_search", "jm_score"),
    *("jm_packed_f32", "jm_packed_i8", "jm_pack_f32", "jm_record_at", "jm_attentions"),
)
"""What a page calls."""
