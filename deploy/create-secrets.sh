#!/bin/sh
# Creates the secrets that compose.yaml reads, in deploy/secrets; those that exist stay as they are.
# The directory is closed to other users of this machine. The files in it are readable, because the
# users inside the containers read them and have other numbers than you.
set -eu
directory=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/secrets
mkdir -p "$directory"
chmod 700 "$directory"

random() {
  head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'
}

[ -s "$directory/database_password" ] || random > "$directory/database_password"
[ -s "$directory/metrics_token" ] || random > "$directory/metrics_token"
password=$(cat "$directory/database_password")
[ -s "$directory/database_url" ] ||
  printf 'postgres://sliproad:%s@database:5432/sliproad' "$password" > "$directory/database_url"
chmod 644 "$directory"/*
echo "The secrets are in $directory."
