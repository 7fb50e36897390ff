#!/bin/sh
# Builds the folder that an image of ours consists of; service.Dockerfile runs the same steps one by one, so that layers can be kept.
set -eu

help() {
  cat <<'TEXT'
usage: infra/docker/build-folder.sh APP OUT          all steps; needs turbo and pnpm (./dueline pnpm install brings both)
       infra/docker/build-folder.sh tools OUT        fetches the pinned pnpm and turbo with npm, for machines that have neither
       infra/docker/build-folder.sh prune APP OUT    what APP consists of, by turbo: OUT/json for the install, OUT/full for the rest
       infra/docker/build-folder.sh install OUT      production packages of the lockfile into OUT, which holds the contents of json
       infra/docker/build-folder.sh assemble APP OUT sources of OUT/.pruned/full into OUT, and out of it what a running app does not need

APP is a package that can be started, without its scope: pg-listener, trigger-worker, cron-scheduler, campaign-dispatcher,
line-delivery, ops, line-simulator, demo. OUT holds in the end: app, the folder of APP to start `node src/main.ts` in; bin/node,
the Node of the lockfile. Behind a registry of your own: npm's settings in ~/.npmrc, its certificates in the file EXTRA_CA.
TEXT
}
die() { printf '%s\n' "build-folder: $*" >&2; exit 1; }

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
PATH=$root/node_modules/.bin:$PATH
export PATH TURBO_TELEMETRY_DISABLED=1

# npm, Node and pnpm each have a name of their own for it.
if [ -s "${EXTRA_CA:-}" ]; then
  export NODE_EXTRA_CA_CERTS="$EXTRA_CA" npm_config_cafile="$EXTRA_CA" pnpm_config_cafile="$EXTRA_CA" SSL_CERT_FILE="$EXTRA_CA"
fi

pinned() { sed -n "s/.*\"$1\": *\"\\(pnpm@\\)\\{0,1\\}\\([0-9][0-9.]*\\)\".*/\\2/p" "$root/package.json" | head -n 1; }

fetch_tools() {
  mkdir -p "$1"
  echo '{ "private": true }' >"$1/package.json"
  (cd "$1" && npm install --ignore-scripts --no-save --no-package-lock --no-audit --no-fund --loglevel=error \
    "pnpm@$(pinned packageManager)" "turbo@$(pinned turbo)") || die 'npm could not fetch pnpm and turbo'
}

prune() {
  (cd "$root" && turbo prune "@dueline/$1" --docker --out-dir "$2" >/dev/null) ||
    die "there is no package @dueline/$1 that turbo could prune to"
}

# The folder of an app within a pruned workspace.
folder_of() {
  for folder in "apps/$1" "packages/$1" "$1"; do
    if [ -f "$2/$folder/src/main.ts" ]; then
      printf '%s\n' "$folder"
      return
    fi
  done
  die "$1 cannot be started: it has no src/main.ts"
}

# The lockfile was checked against the supply-chain rules when it changed; checking again takes half a minute.
install() {
  (cd "$1" && pnpm install --prod --frozen-lockfile --ignore-scripts --config.trustLockfile=true --reporter=append-only) ||
    die 'the packages of the lockfile could not be installed'
}

# Tests and what only editors, compilers and people read: a third of the size. Licences stay.
trim() {
  find "$1" -name node_modules -prune -o -type d \( -name test -o -name bench \) -prune -exec rm -rf {} +
  find "$1/node_modules" -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.md' \) \
    ! -iname '*licen[cs]e*' ! -iname '*notice*' -delete
}

# Node leaves its package, whose headers nobody needs. Without its symbols (STRIP=1, for images) it is a fifth smaller.
take_node() {
  for node in "$1"/node_modules/node-*/bin/node; do
    [ -x "$node" ] || continue
    mkdir -p "$1/bin"
    if [ "${STRIP:-}" ]; then strip -o "$1/bin/node" "$node"; else ln "$node" "$1/bin/node" 2>/dev/null || cp "$node" "$1/bin/node"; fi
    rm -rf "$1"/node_modules/node-* "$1"/node_modules/.pnpm/node-linux-* "$1"/node_modules/.pnpm/node-darwin-* "$1"/node_modules/.pnpm/node-bin-*
    return
  done
  die 'the lockfile holds no Node for this machine'
}

assemble() {
  pruned=$2/.pruned/full
  folder=$(folder_of "$1" "$pruned")
  cp -R "$pruned/." "$2"
  rm -rf "$2/.pruned"
  trim "$2"
  take_node "$2"
  ln -s "$folder" "$2/app"
}

must_be_new() {
  [ -z "$(ls -A "$1" 2>/dev/null)" ] || die "$1 is not empty"
  mkdir -p "$1"
}

absolute() { case $1 in /*) printf '%s\n' "$1" ;; *) printf '%s\n' "$PWD/$1" ;; esac }

case $#:${1:-} in
  2:tools) fetch_tools "$(absolute "$2")" ;;
  3:prune) prune "$2" "$(absolute "$3")" ;;
  2:install) install "$(absolute "$2")" ;;
  3:assemble) assemble "$2" "$(absolute "$3")" ;;
  2:*)
    out=$(absolute "$2")
    must_be_new "$out"
    prune "$1" "$out/.pruned"
    folder_of "$1" "$out/.pruned/full" >/dev/null
    cp -R "$out/.pruned/json/." "$out"
    install "$out"
    assemble "$1" "$out"
    ;;
  *) help >&2; exit 2 ;;
esac
