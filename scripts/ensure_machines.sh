#!/usr/bin/env bash
# What the C tests of other machines need: qemu for ARM, found or installed by apt when we may, and zig, which compiles
# for them, in an environment of its own; otherwise says what is skipped.
set -euo pipefail
. "$(dirname "$0")/apt.sh"
place=${1:?where the environment goes}
pip=(-m pip install --quiet --no-compile --disable-pip-version-check)

has() { command -v "$1" >/dev/null; }

has qemu-aarch64 || apt_install qemu-user || true
if has qemu-aarch64; then
    if [ -n "${JUMOK_ZIG:-}" ] || has zig || "$place/bin/python" -m ziglang version >/dev/null 2>&1; then
        exit
    fi
    zig=$(sed -n 's/^wheels = \["\(.*\)"\]$/\1/p' "$(dirname "$0")/../pyproject.toml")
    if python3 -m venv "$place" && "$place/bin/python" "${pip[@]}" "$zig"; then
        exit
    fi
fi
echo "no qemu-aarch64 or no zig, and they cannot be installed here: the C tests of other machines are skipped" >&2
echo "  Debian: apt-get install qemu-user; zig: pip install ziglang, or JUMOK_ZIG" >&2
[ "${CI:-}" != true ]
