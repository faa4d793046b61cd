#!/bin/sh
# Writes a backup of the shop and sends it, encrypted, to a restic repository. The unit turnpike-offsite.service runs it
# with the settings of /etc/turnpike/offsite.env.
set -eu

# restic finds what has not changed by the path, so every backup has the same one.
folder=${OFFSITE_FOLDER:-/var/lib/turnpike/offsite}
keep=${OFFSITE_KEEP:---keep-daily 14 --keep-weekly 8 --keep-monthly 12}

# The script deletes only a folder that it made, and in it only the files of a backup.
marker=$folder.turnpike-offsite
if [ -e "$folder" ] && [ ! -f "$marker" ]; then
	echo "turnpike-offsite did not make $folder. Nothing was deleted. Set OFFSITE_FOLDER to a folder that does not exist." >&2
	exit 1
fi

clean() {
	for each in "$folder" "$folder".partial-*; do
		[ -d "$each" ] || continue
		rm -f "$each"/shop.db* "$each"/secret.key "$each"/manifest.json
		rmdir "$each"
	done
	rm -f "$marker"
}
if [ -f "$marker" ]; then clean; fi
: >"$marker"
trap clean EXIT
turnpike backup "$folder"
restic backup --quiet --tag turnpike "$folder"
# shellcheck disable=SC2086 # Several options.
restic forget --quiet --tag turnpike --group-by paths $keep --prune
restic check --quiet
