#!/usr/bin/env bash
# A Chromium and fonts for the browser tests: found, or installed by apt when we may; otherwise says what is skipped.
# Best is Debian's headless shell: it has no windows to draw, and the tests take half as long with it.
set -euo pipefail
. "$(dirname "$0")/apt.sh"
browsers=(chromium-headless-shell chromium chromium-browser google-chrome)

has() {
    for name in "$@"; do
        command -v "$name" >/dev/null && return
    done
    return 1
}

has_fonts() {
    fc-list ':lang=ko' 2>/dev/null | grep -q . && fc-list ':lang=ar' 2>/dev/null | grep -q .
}

has chromium-headless-shell || apt_install chromium-headless-shell || true
has "${browsers[@]}" || apt_install chromium || true
has_fonts || apt_install fontconfig fonts-noto-cjk fonts-noto-core fonts-noto-color-emoji || true
if has "${browsers[@]}" && has_fonts; then
    exit
fi
echo "no Chromium with Korean and Arabic fonts, and it cannot be installed here: the browser tests are skipped" >&2
echo "  Debian: apt-get install chromium-headless-shell fonts-noto-cjk fonts-noto-core" >&2
[ "${CI:-}" != true ]
