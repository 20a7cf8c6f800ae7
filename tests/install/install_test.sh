#!/usr/bin/env bash
# install_test.sh CASE SOURCE WORK COMPILER: one way in which a user's project gets pawl.
# The cases install-static and install-shared prepare WORK/{static,shared}/prefix for the others.
set -euo pipefail
case=$1 source=$2 work=$3 compiler=$4
kind=${case##*-}  # static or shared
consumer=$source/tests/install/consumer
expected="4 invalid not backwards"
# What strict projects compile with.
strict="-Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror"

# The user's flags are not ours: nothing of the build that runs this test may leak in.
unset CXXFLAGS LDFLAGS
export CXX=$compiler CMAKE_GENERATOR=Ninja CMAKE_EXPORT_COMPILE_COMMANDS=ON
if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

fail() {
    echo "$case: $1" >&2
    exit 1
}

# fresh_build SOURCE BUILD [cmake args]
fresh_build() {
    local from=$1 into=$2
    shift 2
    rm -rf "$into"
    cmake -S "$from" -B "$into" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0 "$@"
    cmake --build "$into" --parallel 2
}

install_pawl() {
    local shared=OFF
    [ "$kind" = static ] || shared=ON
    rm -rf "${work:?}/$kind"
    fresh_build "$source" "$work/$kind/build" -DBUILD_SHARED_LIBS=$shared \
        -DPAWL_TESTS=OFF -DPAWL_EXAMPLES=OFF -DPAWL_BENCH=OFF
    cmake --install "$work/$kind/build" --prefix "$work/$kind/prefix"
}

# expect_output COMMAND...: the user's program runs and says what it should.
expect_output() {
    local output
    output=$("$@")
    [ "$output" = "$expected" ] || fail "expected '$expected', got '$output'"
}

find_package() {
    fresh_build "$consumer" "$work/$case" -DCMAKE_PREFIX_PATH="$work/$kind/prefix" \
        -DCMAKE_CXX_FLAGS="$strict"
    expect_output "$work/$case/consumer"
}

# pkg_config [--static]: without it a user gets a program from an installed libpawl of either kind.
pkg_config() {
    local description flags
    description=$(find "$work/$kind/prefix" -name pawl.pc)
    export PKG_CONFIG_PATH=${description%/*}
    flags=$(pkg-config "$@" --cflags --libs pawl)
    mkdir -p "$work/$case"
    # shellcheck disable=SC2086
    "$compiler" -std=c++20 $strict "$consumer/main.cpp" -o "$work/$case/consumer" $flags
    LD_LIBRARY_PATH=${description%/pkgconfig/*} expect_output "$work/$case/consumer"
}

# The user's flags reach our sources, too.
add_subdirectory() {
    fresh_build "$consumer" "$work/$case" -DPAWL_SOURCE="$source" -DCMAKE_CXX_FLAGS="$strict"
    expect_output "$work/$case/consumer"
    if sed "s/ $strict / /" "$work/$case/compile_commands.json" |
        grep -nE -- ' -W(all|extra|error)'; then
        fail "our warning flags are in a user's build"
    fi
    if grep -nE '^PAWL_(TESTS|EXAMPLES|BENCH|INSTALL):BOOL=ON' "$work/$case/CMakeCache.txt"; then
        fail "a user's build also builds what is only ours"
    fi
    if ctest --test-dir "$work/$case" -N | grep -E 'Test +#'; then
        fail "our tests are in a user's build"
    fi
}

# What is not marked PAWL_API is hidden. Weak symbols are templates that every user of them emits.
exports() {
    local library
    library=$(find "$work/$kind/prefix" -name libpawl.so)
    nm --dynamic --defined-only --demangle "$library" >"$work/exports.txt"
    grep -q ' T pawl::v0::idempotency_key' "$work/exports.txt" || fail "the API is not exported"
    if grep -E ' [TDBR] ' "$work/exports.txt" | grep -vE ' . ([a-z ]+ for )?pawl::v0::'; then
        fail "these symbols are exported and not of the API"
    fi
}

mkdir -p "$work"
case $case in
    install-*) install_pawl ;;
    find-package-*) find_package ;;
    pkg-config-static)
        pkg_config
        pkg_config --static
        ;;
    pkg-config-shared) pkg_config ;;
    exports-shared) exports ;;
    add-subdirectory) add_subdirectory ;;
    *) fail "no such case" ;;
esac
