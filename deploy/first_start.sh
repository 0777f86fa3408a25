#!/bin/sh
# Starts the program once while the image is built, so that Node's cache of compiled code is in the image.
set -eu
cd /tmp/first_start
export MALLOC_ARENA_MAX=2
program='/image/usr/local/bin/node --max-semi-space-size=8 --no-parallel-scavenge /app/node_modules/grantd/bin/grantd.mjs'
$program serve --demo --workers 2 --port 48211 --shutdown-delay 0 &
server=$!
# A failed build leaves no server behind.
trap 'kill -KILL "$server" 2> /dev/null || true' EXIT
$program health --port 48211 --wait 60
# The pages load a second after the start.
sleep 3
kill -TERM "$server"
wait "$server"
