#!/bin/sh
# Deploy hook of certbot: gives HAProxy or nginx a renewed certificate. certbot sets RENEWED_LINEAGE.
set -eu
umask 077

# Replaces a file by a rename, so that the balancer never reads half of it.
replace() {
	cat >"$1.new"
	mv "$1.new" "$1"
}

for name in haproxy nginx; do
	folder=${BALANCER_ETC:-/etc}/$name
	[ -d "$folder" ] || continue
	case $name in
	haproxy) cat "$RENEWED_LINEAGE/fullchain.pem" "$RENEWED_LINEAGE/privkey.pem" | replace "$folder/shop.pem" ;;
	nginx)
		replace "$folder/shop.key" <"$RENEWED_LINEAGE/privkey.pem"
		replace "$folder/shop.crt" <"$RENEWED_LINEAGE/fullchain.pem"
		;;
	esac
	systemctl reload "$name"
done
