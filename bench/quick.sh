#!/usr/bin/env bash
# Runs every scenario once and briefly on every store that is there, and holds the form of each
# line: a benchmark must not rot.
set -euo pipefail
bench=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

run_all() {
    local store=$1 name
    "$bench" --quick --store "$store" | tee lines
    for name in $("$bench" --list); do
        grep -q "^{\"bench\":\"$name" lines || { echo "no line of scenario $name"; exit 1; }
    done
    if grep -vqE '^\{"bench":"[a-z0-9-]+","store":"'"$store"'",.*\}$' lines; then
        echo "a line is not of the documented form"
        exit 1
    fi
}

run_all sqlite
for store in postgres mariadb; do
    server=PAWL_TEST_${store^^}
    if [ -n "${!server:-}" ]; then
        export "PAWL_BENCH_${store^^}=${!server}"
        run_all "$store"
    else
        echo "skipped: $server names no server"
    fi
done
