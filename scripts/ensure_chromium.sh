#!/usr/bin/env bash
# A Chromium and fonts for the browser tests: found, or installed by apt when we may; otherwise says what is skipped.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && have=yes
done
if [ "${have:-}" = yes ] && fc-list ':lang=ko' 2>/dev/null | grep -q . && fc-list ':lang=ar' 2>/dev/null | grep -q .; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing Chromium and fonts for the browser tests" >&2
    export DEBIAN_FRONTEND=noninteractive
    if apt-get update -qq && apt-get install -y -qq --no-install-recommends \
        chromium fontconfig fonts-noto-cjk fonts-noto-core fonts-noto-color-emoji >/dev/null; then
        exit 0
    fi
fi
echo "no Chromium with Korean and Arabic fonts, and it cannot be installed here: the browser tests are skipped" >&2
echo "  Debian: apt-get install chromium fonts-noto-cjk fonts-noto-core" >&2
[ "${CI:-}" != true ]
