#!/bin/sh
# Writes a backup of the shop and sends it, encrypted, to a restic repository. The unit turnpike-offsite.service runs it
# with the settings of /etc/turnpike/offsite.env.
set -eu

# restic finds what has not changed by the path, so every backup has the same one.
folder=${OFFSITE_FOLDER:-/var/lib/turnpike/offsite}
keep=${OFFSITE_KEEP:---keep-daily 14 --keep-weekly 8 --keep-monthly 12}

clean() {
	rm -rf "$folder" "$folder".partial-*
}
trap clean EXIT
clean
turnpike backup "$folder"
restic backup --quiet --tag turnpike "$folder"
# shellcheck disable=SC2086 # Several options.
restic forget --quiet --tag turnpike --group-by paths $keep --prune
restic check --quiet
