#!/bin/sh
# Turnpike, as the package installs it. Root acts as the service does: as its user, with the settings of
# /etc/turnpike/turnpike.env (where the environment does not say otherwise), on the data in /var/lib/turnpike.
# Anybody else, and root once TURNPIKE_DATA is set, is just himself.
set -eu

program=/usr/lib/turnpike/turnpike
settings=/etc/turnpike/turnpike.env

if [ "$(id -u)" -ne 0 ] || [ -n "${TURNPIKE_DATA-}" ]; then
	exec "$program" "$@"
fi

# One setting a line, as systemd reads them: NAME=value, with or without quotes.
if [ -r "$settings" ]; then
	while IFS= read -r line || [ -n "$line" ]; do
		name=${line%%=*}
		value=${line#*=}
		case $line in
		[A-Z]*=*) ;;
		*) continue ;;
		esac
		case $name in
		*[!A-Z0-9_]*) continue ;;
		esac
		case $value in
		\"*\" | \'*\') value=${value#?} value=${value%?} ;;
		esac
		printenv "$name" >/dev/null || export "$name=$value"
	done <"$settings"
fi
export TURNPIKE_DATA="${TURNPIKE_DATA:-/var/lib/turnpike}" TURNPIKE_SANDBOX="${TURNPIKE_SANDBOX:-off}"

# Root's own folder is closed to the service's user: files that are named without a folder are in the service's then.
setpriv --reuid turnpike --regid turnpike --clear-groups test -x . || cd "$TURNPIKE_DATA" || cd /

case ${1-} in
vpn-node) capability=+net_admin ;;
*) capability=-all ;;
esac
exec setpriv --reuid turnpike --regid turnpike --clear-groups \
	--inh-caps "-all,$capability" --ambient-caps "-all,$capability" "$program" "$@"
