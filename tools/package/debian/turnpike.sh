#!/bin/sh
# The command `turnpike` of the package. Root runs it as the service's user on the data in /var/lib/turnpike, with the
# settings that the unit of the command's role reads: /etc/turnpike/turnpike-ROLE.env, then /etc/turnpike/turnpike.env
# for what the first leaves unset. The environment overrides both. Other users, and root with TURNPIKE_DATA set, run the
# program as themselves. So does root for `turnpike range`, which changes the network of the machine.
set -eu

program=/usr/lib/turnpike/turnpike
settings=/etc/turnpike
data=/var/lib/turnpike

# Removes all environment variables that Turnpike does not read, such as NODE_OPTIONS, BUN_* and LD_*: root's environment
# must not change the program of the service.
clean_environment() {
	for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
		case $name in
		TURNPIKE_* | PATH | HOME | PWD | SUDO_USER | TMPDIR | LANG | LC_* | TZ | TERM | SSL_CERT_FILE | SSL_CERT_DIR) ;;
		NODE_EXTRA_CA_CERTS | NOTIFY_SOCKET | LISTEN_* | WATCHDOG_* | MAINPID | JOURNAL_STREAM) ;;
		CREDENTIALS_DIRECTORY | STATE_DIRECTORY | RUNTIME_DIRECTORY) ;;
		*) unset "$name" ;;
		esac
	done
}

# Prints the first argument that is no option.
command_of() {
	for word; do
		case $word in
		-*) ;;
		*)
			echo "$word"
			return
			;;
		esac
	done
}

# Whether a command works on this machine's data. A remote shop and help do not need it.
needs_settings() {
	for word; do
		case $word in
		--shop | --shop=* | --data | --data=* | --help | --version | help | completion) return 1 ;;
		esac
	done
	[ $# -gt 0 ]
}

# Whether a role has settings of its own.
has_file() {
	[ -e "$settings/turnpike-$1.env" ]
}

# Exports the settings of a file that are not set yet. One setting per line, in systemd's format: NAME=value, with or
# without quotes.
read_settings() {
	[ -e "$1" ] || return 0
	if ! [ -r "$1" ]; then
		echo "turnpike: $(id -un) may not read $1, so its settings are unknown. Run the command as root." >&2
		exit 2
	fi
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
	done <"$1"
}

# Reads the role's settings and becomes the service's user and the program.
run_as_service() {
	[ "$1" = - ] || read_settings "$settings/turnpike-$1.env"
	shift
	read_settings "$settings/turnpike.env"
	export TURNPIKE_DATA="${TURNPIKE_DATA:-$data}" TURNPIKE_SANDBOX="${TURNPIKE_SANDBOX:-off}"
	# If the service's user cannot enter the current folder, relative file names refer to the service's data folder.
	setpriv --reuid turnpike --regid turnpike --clear-groups test -x . || cd "$TURNPIKE_DATA" || cd /
	case $(command_of "$@") in
	vpn-node) capability=+net_admin ;;
	*) capability=-all ;;
	esac
	exec setpriv --reuid turnpike --regid turnpike --clear-groups \
		--inh-caps "-all,$capability" --ambient-caps "-all,$capability" "$program" "$@"
}

if [ "$(id -u)" -eq 0 ]; then clean_environment; fi

if [ "$(id -u)" -ne 0 ] || [ -n "${TURNPIKE_DATA-}" ]; then
	if [ -z "${TURNPIKE_DATA-}" ] && needs_settings "$@"; then
		for file in "$settings"/turnpike*.env; do
			if ! [ -e "$file" ] || [ -r "$file" ]; then continue; fi
			echo "turnpike: $(id -un) may not read $file, so this command does not use its settings. Run it as root, or" \
				"set TURNPIKE_DATA to use a data folder of your own." >&2
		done
	fi
	exec "$program" "$@"
fi

case $(command_of "$@") in
range) exec "$program" "$@" ;;
up) run_as_service - "$@" ;;
gateway) run_as_service gateway "$@" ;;
vpn-node) run_as_service vpn-node "$@" ;;
doctor) ;;
*)
	# Other commands are about the shop. A machine without a shop has the settings of its node.
	for role in shop gateway vpn-node; do
		if has_file "$role"; then run_as_service "$role" "$@"; fi
	done
	run_as_service - "$@"
	;;
esac

# The doctor checks each role of this machine with the settings of that role, or only the one that --role names.
previous=
for word; do
	case $word in
	--role=*) run_as_service "${word#--role=}" "$@" ;;
	esac
	[ "$previous" != --role ] || run_as_service "$word" "$@"
	previous=$word
done
roles=
for role in shop gateway vpn-node; do
	case $role in
	shop) kept=$data/turnpike.db ;;
	*) kept=$data/$role ;;
	esac
	if has_file "$role" || [ -e "$kept" ]; then roles="$roles $role"; fi
done
if ! has_file shop && ! has_file gateway && ! has_file vpn-node; then run_as_service - "$@"; fi
status=0
for role in $roles; do
	(run_as_service "$role" "$@" --role "$role") || status=$?
done
exit "$status"
