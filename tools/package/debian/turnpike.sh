#!/bin/sh
# The command `turnpike` of the package. Root runs it as the service's user, with the settings of
# /etc/turnpike/turnpike.env (the environment overrides them), on the data in /var/lib/turnpike. Other users, and root
# with TURNPIKE_DATA set, run the program as themselves. So does root for `turnpike range`, which changes the network of
# the machine and uses neither settings nor data.
set -eu

program=/usr/lib/turnpike/turnpike
settings=/etc/turnpike/turnpike.env

if [ "$(id -u)" -ne 0 ] || [ -n "${TURNPIKE_DATA-}" ] || [ "${1-}" = range ]; then
	exec "$program" "$@"
fi

# One setting per line, in systemd's format: NAME=value, with or without quotes.
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

# If the service's user cannot enter the current folder, relative file names refer to the service's data folder.
setpriv --reuid turnpike --regid turnpike --clear-groups test -x . || cd "$TURNPIKE_DATA" || cd /

case ${1-} in
vpn-node) capability=+net_admin ;;
*) capability=-all ;;
esac
exec setpriv --reuid turnpike --regid turnpike --clear-groups \
	--inh-caps "-all,$capability" --ambient-caps "-all,$capability" "$program" "$@"
