#!/bin/sh
# Runs Patroni while the disk of the database has room: with-room.sh DATA-FOLDER PATRONI-COMMAND…
# Patroni 3.0 keeps a leader whose disk is full. This script ends it at less than 64 MiB, so that another machine leads,
# and starts it again when there is room. pg_ctl must be on the PATH.
data=$1
shift
least_kib=65536

has_room() {
  [ "$(df -kP "$(dirname "$data")" | awk 'NR == 2 { print $4 }')" -ge "$least_kib" ]
}

until has_room; do sleep 2; done
"$@" &
patroni=$!
trap 'kill -TERM $patroni' TERM INT
while kill -0 $patroni 2>/dev/null; do
  if ! has_room; then
    # Patroni gives the lead away when its server has stopped. If it is killed, the lead stays here for the ttl.
    kill -TERM $patroni
    pg_ctl -D "$data" stop -m immediate
    for second in 1 2 3 4 5 6 7 8; do
      kill -0 $patroni 2>/dev/null || exit 1
      sleep 1
    done
    kill -KILL $patroni
    pg_ctl -D "$data" stop -m immediate
    exit 1
  fi
  sleep 2
done
wait $patroni
