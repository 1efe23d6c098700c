#!/usr/bin/env bash
# Checks the page's sources (types, unit tests) and that the committed build is theirs; with `lint`, only their format
# and the linter's rules. Needs Node 20 and npm.
set -euo pipefail
cd "$(dirname "$0")/../web"
if ! command -v npm >/dev/null; then
    echo "the page is not checked: this machine has no npm (the built files are committed, so nothing else needs it)" >&2
    [ "${CI:-}" != true ]
    exit
fi
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-audit --no-fund
if [ "${1:-}" = lint ]; then
    exec npm run --silent lint
fi
npm run --silent types
npm test --silent
npm run --silent build
changed=$(git status --porcelain -- ../src/jumok/server/static)
if [ -n "$changed" ]; then
    printf '%s\n%s\n' "the built page differs from its sources; commit the result of: cd web && npm run build" "$changed" >&2
    exit 1
fi
