#!/bin/sh
# Writes .env for docker-compose.yml, with passwords that nobody else has. Leaves one that is there as it is.
set -eu

file=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)/.env
if [ -e "$file" ]; then
  echo 'make-env: .env is there already; remove it for new passwords (and `docker compose down --volumes` first)' >&2
  exit 1
fi

umask 077
cat >"$file" <<TEXT
# Written by infra/docker/make-env.sh, for this machine only.
DUELINE_DEVELOPMENT_PASSWORD=$(od -An -N18 -tx1 /dev/urandom | tr -d ' \n')
# 32 bytes in base64: seals and opens the channel access tokens.
SECRETS_KEY=$(head -c 32 /dev/urandom | base64)
TEXT
echo 'make-env: .env is written' >&2
