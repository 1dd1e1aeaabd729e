#!/bin/sh
# Starts the program in its container. A secret arrives as a file, the program reads its environment: for every
# variable here, NAME_FILE stands for NAME, as in the image of PostgreSQL.
set -eu

read_secret() {
    eval "file=\${$1_FILE:-}"
    if [ -n "$file" ]; then
        export "$1=$(cat "$file")"
    fi
}

read_secret PGPASSWORD
read_secret STORYENGINE_API_KEY
exec storyengine "$@"
