#!/usr/bin/env bash
# The tests of the native engine with AddressSanitizer and UBSan in its library: a read past an array, an
# overflow or a free twice ends them. Needs a C compiler with both.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
library=$folder/libjumok.so

skip() {
    echo "the native engine is not sanitized: $1" >&2
    [ "${CI:-}" != true ]
    exit
}

said=$("$python" -m jumok.native.build --strict --sanitize -o "$library" 2>&1) || {
    # A compiler that has no sanitizers is one thing, code that does not compile another.
    echo 'int main(void) { return 0; }' >"$folder/probe.c"
    "${CC:-cc}" -fsanitize=address,undefined -o "$folder/probe" "$folder/probe.c" 2>/dev/null ||
        skip "there is no C compiler with sanitizers"
    echo "$said" >&2
    exit 1
}
# Python itself is not sanitized, so the runtime has to be there before it: gcc links it, clang only names it.
runtime=$(ldd "$library" 2>/dev/null | awk '/asan/ { print $3; exit }')
[ -f "$runtime" ] || runtime=$("${CC:-cc}" -print-file-name="libclang_rt.asan-$(uname -m).so")
[ -f "$runtime" ] || skip "the runtime of AddressSanitizer was not found"

# Python never gives all of its memory back: leaks are found by a test of their own.
LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 JUMOK_NATIVE_LIBRARY=$library OMP_NUM_THREADS=1 \
    "$python" -m pytest -q -n 2 --dist worksteal -p no:cacheprovider --hypothesis-profile=sanitize \
    "${@:-tests/native}"
