#!/bin/sh
# Checks a built image without any service: size, user, labels, an unwritable root, and that the app itself starts in it, from its cache.
set -eu

image=${1:?usage: infra/docker/check-image.sh IMAGE}
limit=250000000
die() { printf '%s\n' "check-image: $image: $*" >&2; exit 1; }
of() { docker image inspect --format "$1" "$image"; }

size=$(of '{{.Size}}')
[ "$size" -lt "$limit" ] || die "$size bytes, more than $limit"
[ "$(of '{{.Config.User}}')" = 10001:10001 ] || die 'does not run as 10001'
for label in title version revision licenses; do
  [ "$(of "{{index .Config.Labels \"org.opencontainers.image.$label\"}}")" ] || die "has no label $label"
done
[ "$(of '{{if .Config.Healthcheck}}yes{{end}}')" ] || die 'has no health check'
! docker history --no-trunc --format '{{.CreatedBy}}' "$image" | grep -q -i -e '_authToken' -e 'BEGIN CERTIFICATE' || die 'has a secret in its history'

# An app without settings says which it misses and ends with 1, ops prints its help; the simulator and the demo do without.
said=$(timeout 60 docker run --rm --read-only --cap-drop ALL --security-opt no-new-privileges \
  --env NODE_DEBUG_NATIVE=COMPILE_CACHE "$image" 2>&1 || :)
case $said in
  *'DATABASE_URL: is missing'* | *'usage: '* | *'"api":'* | *'starting PostgreSQL'*) ;;
  *) die "does not start: $said" ;;
esac
case $said in *'code cache for'*'was accepted'*) ;; *) die 'does not use what Node made of its files when it was built' ;; esac
printf '%s\n' "check-image: $image: $((size / 1000000)) MB, starts"
