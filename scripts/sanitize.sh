#!/usr/bin/env bash
# The native engine under the sanitizers. With AddressSanitizer and UBSan in its library its tests run once more:
# a read past an array, an overflow or a free twice ends them. With ThreadSanitizer many threads search at once
# (tests/native/many_threads.py): a race ends it. Needs a C compiler with these.
#   scripts/sanitize.sh [tests…]       MANY="8 20" scripts/sanitize.sh: as many callers, as many rounds
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

skip() {
    echo "the native engine is not sanitized: $1" >&2
    [ "${CI:-}" != true ]
    exit
}

# The library with a sanitizer in it (address or thread), and where the sanitizer's runtime is.
build() {
    library=$folder/libjumok-$1.so
    said=$("$python" -m jumok.native.build --strict --sanitize "$1" -o "$library" 2>&1) || {
        # A compiler that has no sanitizers is one thing, code that does not compile another.
        echo 'int main(void) { return 0; }' >"$folder/probe.c"
        "${CC:-cc}" -fsanitize="$1" -o "$folder/probe" "$folder/probe.c" 2>/dev/null ||
            skip "there is no C compiler with sanitizers"
        echo "$said" >&2
        exit 1
    }
    # Python itself is not sanitized, so the runtime has to be there before it: gcc links it, clang only names it.
    runtime=$(ldd "$library" 2>/dev/null | awk "/$2/ { print \$3; exit }")
    [ -f "$runtime" ] || runtime=$("${CC:-cc}" -print-file-name="libclang_rt.$2-$(uname -m).so")
    [ -f "$runtime" ] || skip "the runtime of the $1 sanitizer was not found"
}

build thread tsan
# shellcheck disable=SC2086  # MANY is two words
LD_PRELOAD=$runtime TSAN_OPTIONS="exitcode=66 history_size=4" JUMOK_NATIVE_LIBRARY=$library \
    "$python" -m tests.native.many_threads ${MANY:-4 1}
echo "no races among the threads of the native engine"

build address asan
# Python never gives all of its memory back: leaks are found by a test of their own.
LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 JUMOK_NATIVE_LIBRARY=$library OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive \
    "$python" -m pytest -q -n 2 --dist worksteal -p no:cacheprovider --randomly-seed=1 --hypothesis-profile=sanitize \
    "${@:-tests/native}"
