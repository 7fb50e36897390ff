#!/bin/sh
# Writes .env for docker-compose.yml, with passwords that nobody else has. In one that is there it adds what it lacks, and changes nothing.
set -eu

file=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)/.env
umask 077
[ -e "$file" ] || echo '# Written by infra/docker/make-env.sh, for this machine only.' >"$file"

added=
add() {
  if grep -q "^$1=" "$file"; then return; fi
  printf '%s=%s\n' "$1" "$2" >>"$file"
  added="$added $1"
}
password() { od -An -N18 -tx1 /dev/urandom | tr -d ' \n'; }

add DUELINE_DEVELOPMENT_PASSWORD "$(password)"
for app in PG_LISTENER TRIGGER_WORKER CRON_SCHEDULER CAMPAIGN_DISPATCHER LINE_DELIVERY OPS; do
  add "DUELINE_${app}_PASSWORD" "$(password)"
done
# 32 bytes: it seals and opens the channel access tokens.
add SECRETS_KEY "$(head -c 32 /dev/urandom | base64)"

if [ "$added" ]; then
  echo "make-env: .env has now:$added" >&2
else
  echo 'make-env: .env has all it needs; remove it for new passwords (and `docker compose down --volumes` first)' >&2
fi
