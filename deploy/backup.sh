#!/bin/sh
# Dumps the database every day, keeps a number of days, and restores.
#
#     storyengine-backup dump             one dump, now
#     storyengine-backup prune            remove what is older than BACKUP_KEEP_DAYS; the newest always stays
#     storyengine-backup list             what there is, oldest first
#     storyengine-backup restore FILE     put a dump in the place of everything in the database
#     storyengine-backup daily            dump and prune every day at BACKUP_HOUR (UTC), for ever
#     storyengine-backup check            whether the newest dump is fresh: the health check
#
# PGHOST, PGUSER, PGDATABASE and their like say which database; PGPASSWORD_FILE may name a file with the
# password. Times are UTC and in the files' names, because a copied file has a new date.
set -eu
umask 077

backups=${BACKUP_DIRECTORY:-/backups}
keep_days=${BACKUP_KEEP_DAYS:-14}
hour=${BACKUP_HOUR:-3}
# A number with a leading zero would be taken for an octal one.
hour=${hour#0}
hour=${hour:-0}

if [ -n "${PGPASSWORD_FILE:-}" ]; then
    PGPASSWORD=$(cat "$PGPASSWORD_FILE")
    export PGPASSWORD
fi

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# A time in seconds, as the fourteen digits that names of dumps carry: they sort and compare as numbers.
digits_of() {
    date -u -d "@$1" +%Y%m%d%H%M%S
}

time_of_dump() {
    basename "$1" .dump | tr -cd '0-9'
}

dumps() {
    find "$backups" -maxdepth 1 -type f -name 'storyengine-*.dump' | sort
}

newest_time() {
    newest=$(dumps | tail -n 1)
    [ -n "$newest" ] && time_of_dump "$newest" || echo 0
}

# The SHA-256 at the end of a dump, in 84 bytes as `storyengine backup` writes it (db/backups/seal.py): PostgreSQL
# does not check the table of contents, in which one wrong bit may leave out a table.
seal_of() {
    sum=$(sha256sum)
    printf '\nstoryengine-sha256:%s' "${sum%% *}"
}

# A dump without a seal, as older versions made, ends with a zero; one that was cut in its seal does not.
is_damaged() {
    length=$(($(wc -c <"$1") - 84))
    [ "$length" -gt 0 ] || return 0
    end=$(tail -c 84 "$1" | tr '\0' .)
    [ "$end" != "$(head -c "$length" "$1" | seal_of)" ] || return 1
    [ "$(tail -c 1 "$1" | tr '\0' .)" != . ] || tail -c 1000000 "$1" | LC_ALL=C grep -aq '^storyengine-sha256:'
}

# A dump has its name only when it is whole, readable and on the disk.
dump() {
    mkdir -p "$backups"
    target=$backups/storyengine-$(date -u +%Y%m%dT%H%M%SZ).dump
    trap 'rm -f "$target.part"' EXIT
    pg_dump --format=custom --no-owner --no-privileges --file="$target.part"
    # Every byte of it: the list alone stands at its beginning, and is whole when the rest is not.
    pg_restore --file=/dev/null "$target.part" || fail "The dump cannot be read again; it was removed."
    seal=$(seal_of <"$target.part")
    printf '%s' "$seal" >>"$target.part"
    sync "$target.part"
    mv "$target.part" "$target"
    trap - EXIT
    echo "Dumped to $target ($(wc -c <"$target" | tr -d ' ') bytes)."
}

prune() {
    [ "$keep_days" -ge 7 ] || fail "BACKUP_KEEP_DAYS is $keep_days; dumps are kept for 7 days at least."
    oldest_kept=$(digits_of $(($(date +%s) - keep_days * 86400)))
    dumps | sed '$d' | while IFS= read -r file; do
        if [ "$(time_of_dump "$file")" -lt "$oldest_kept" ]; then
            rm -f "$file"
            echo "Removed $file, older than $keep_days days."
        fi
    done
    # What an interrupted dump left behind.
    find "$backups" -maxdepth 1 -name 'storyengine-*.part' -mmin +1440 -exec rm -f {} +
}

# A window that stays open must not write into what is restored: the restore is a new writer of each chapter,
# after all that the database had.
note_writers="DO \$\$ BEGIN IF to_regclass('public.session') IS NOT NULL THEN
    LOCK TABLE public.session;
    PERFORM set_config('storyengine.last_epoch', max(writer_epoch)::text, true) FROM public.session;
END IF; END \$\$"
fence="DO \$\$ BEGIN IF to_regclass('public.session') IS NOT NULL THEN
    UPDATE public.session SET writer_epoch = 1 + greatest(
        writer_epoch, nullif(current_setting('storyengine.last_epoch', true), '')::integer
    );
END IF; END \$\$"

# All or nothing: one transaction, from a script that was written out whole before the first line of it ran.
restore() {
    [ -f "$1" ] || fail "There is no file $1."
    if is_damaged "$1"; then
        fail "$1 is damaged: it is not as it was written. Nothing was changed."
    fi
    script=$(mktemp "$backups/restore-XXXXXX")
    trap 'rm -f "$script"' EXIT
    pg_restore --no-owner --no-privileges --file="$script" "$1" || fail "$1 is no dump, or it is damaged."
    echo "First, what is there now:"
    (dump)
    # A program that is still connected would wait on, or write into, what is being replaced.
    PGOPTIONS='-c lock_timeout=10s' psql --no-psqlrc --quiet --single-transaction --set=ON_ERROR_STOP=1 \
        --command="$note_writers" --command='DROP SCHEMA public CASCADE' --command='CREATE SCHEMA public' \
        --file="$script" --command="$fence" >/dev/null ||
        fail "Nothing was changed. If the database is in use, stop Story Engine and try again."
    echo "Restored from $1."
}

# Due is what has not been dumped since the hour last struck, so a machine that slept makes up for it.
is_due() {
    now=$(date +%s)
    struck=$((now / 86400 * 86400 + hour * 3600))
    [ "$struck" -le "$now" ] || struck=$((struck - 86400))
    [ "$(newest_time)" -lt "$(digits_of "$struck")" ]
}

daily() {
    trap 'exit 0' TERM INT
    while :; do
        # In processes of their own: a failure ends them at once, and the next round tries again.
        if is_due && sh "$0" dump; then
            sh "$0" prune || true
        fi
        sleep "${BACKUP_POLL_SECONDS:-300}" &
        wait $!
    done
}

check() {
    [ "$(newest_time)" -ge "$(digits_of $(($(date +%s) - 26 * 3600)))" ] || fail "The newest dump is older than 26 hours."
}

case ${1:-} in
dump | prune | daily | check) "$1" ;;
list) dumps ;;
restore)
    [ $# -eq 2 ] || fail "Name the dump to restore; list shows them."
    restore "$2"
    ;;
*) fail "Say dump, prune, list, restore FILE, daily or check." ;;
esac
