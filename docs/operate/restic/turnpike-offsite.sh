#!/bin/sh
# Writes a backup of the shop and sends it, encrypted, to a restic repository. The unit turnpike-offsite.service runs it
# with the settings of /etc/turnpike/offsite.env.
set -eu

# restic finds what has not changed by the path, so every backup has the same one.
folder=${OFFSITE_FOLDER:-/var/lib/turnpike/offsite}
folder=${folder%/}
keep=${OFFSITE_KEEP:---keep-daily 14 --keep-weekly 8 --keep-monthly 12}

# The script deletes only its own folder, and the backup that it made: the one of the noted device and inode.
work=$folder.turnpike-offsite.d
identity() { stat -c %d:%i "$1"; }

clean() {
	if [ -f "$work/made" ] && [ -d "$folder" ] && [ "$(identity "$folder")" = "$(cat "$work/made")" ]; then
		rm -rf "$folder"
	fi
	rm -rf "$work"
}
clean
if [ -e "$folder" ]; then
	echo "turnpike-offsite did not make $folder. Nothing was deleted. Set OFFSITE_FOLDER to a folder that does not exist." >&2
	exit 1
fi
trap clean EXIT
mkdir -m 700 "$work"
turnpike backup "$work/backup"
identity "$work/backup" >"$work/made"
mv "$work/backup" "$folder"
restic backup --quiet --tag turnpike "$folder"
# shellcheck disable=SC2086 # Several options.
restic forget --quiet --tag turnpike --group-by paths $keep --prune
restic check --quiet
