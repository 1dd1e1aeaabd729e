#!/bin/sh
# Prints the interpreter that .venv is made with: the newest one on the PATH, or an older one that is clearly faster.
#
#     tools/find_python.sh
#
# Builds of one version differ up to two times in speed: distributions compile Python with a profile of its use, version
# managers often do not. All that the program computes takes as much longer. So each interpreter that can make an
# environment runs a small loop, about 0.1 s, and one that takes at most four fifths of the time of a newer one is
# preferred to it.
set -eu

is_supported() {
    "$1" -I -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

# The interpreter under a virtual environment, since the one at hand may be of the .venv that goes; and then only
# where it can make another one: on Debian and Ubuntu that part is a package of its own.
describe() {
    "$1" -I -c 'import ensurepip, sys, venv; print(getattr(sys, "_base_executable", None) or sys.executable)' 2>/dev/null
}

# Processor time in microseconds, the shortest of several, so that other work on the machine counts little.
measure() {
    "$1" -I -S -c '
from time import process_time


def loop():
    kept = {}
    for number in range(60_000):
        kept[number % 97] = str(number)
    return sorted(kept.values())


def once():
    start = process_time()
    loop()
    return process_time() - start


print(round(min(once() for _ in range(7)) * 1_000_000))'
}

# Those of these names, in this order, each in the order of the PATH.
list_on_path() {
    set -f # A folder may have a name with a sign of a pattern.
    old=$IFS
    for name in "$@"; do
        IFS=:
        for folder in $PATH; do
            IFS=$old
            if [ -x "$folder/$name" ] && [ ! -d "$folder/$name" ] && is_supported "$folder/$name"; then
                describe "$folder/$name" || true
            fi
        done
        IFS=$old
    done
}

# A name without a version is called only where there is no other: on macOS it may open a dialog.
found=$(list_on_path python3.13 python3.12 python3.11)
[ -n "$found" ] || found=$(list_on_path python3 python)

chosen=
shortest=
measured=
newline='
'
while read -r python; do
    [ -n "$python" ] || continue
    case "$newline$measured" in
    *"$newline$python$newline"*) continue ;;
    esac
    measured="$measured$python$newline"
    taken=$(measure "$python") || continue
    if [ -z "$chosen" ] || [ $((taken * 5)) -le $((shortest * 4)) ]; then
        chosen=$python
        shortest=$taken
    fi
done <<END
$found
END
[ -n "$chosen" ] || exit 1
printf '%s\n' "$chosen"
