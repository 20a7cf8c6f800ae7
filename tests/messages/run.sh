#!/bin/sh
# run.sh COMPILER INCLUDE FILE: FILE must not compile, and the compiler's output must match every
# regular expression that its first lines give as "// expect: ...".
set -u
compiler=$1 include=$2 file=$3

if output=$("$compiler" -std=c++20 -fsyntax-only -I "$include" "$file" 2>&1); then
    echo "$file compiles, and should not"
    exit 1
fi

expected=$(sed -n 's|^// expect: ||p' "$file")
if [ -z "$expected" ]; then
    echo "$file has no line \"// expect: <regex>\""
    exit 1
fi

printf '%s\n' "$expected" | while IFS= read -r regex; do
    if ! printf '%s\n' "$output" | grep -Eq -- "$regex"; then
        printf 'no line matches: %s\n\n%s\n' "$regex" "$output"
        exit 1
    fi
done
