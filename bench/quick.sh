#!/usr/bin/env bash
# Runs every scenario once and briefly, and holds the form of each line: a benchmark must not rot.
set -euo pipefail
bench=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
"$bench" --quick | tee lines
for name in $("$bench" --list); do
    grep -q "^{\"bench\":\"$name" lines || { echo "no line of scenario $name"; exit 1; }
done
if grep -vqE '^\{"bench":"[a-z0-9-]+","store":"sqlite",.*\}$' lines; then
    echo "a line is not of the documented form"
    exit 1
fi
