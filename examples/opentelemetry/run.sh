#!/usr/bin/env bash
# Builds the example, runs it, and looks for its three spans, each in the one around it.
set -euo pipefail
cd "$(dirname "$0")"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../../target}"

spans="$(cargo run --quiet)"
value() { # of the span $1: the line that begins with $2
  awk -v name="$1" -v key="$2" '$1 == "Name" && $3 == name { found = 1 } found && $1 == key { print $3; exit }' <<< "$spans"
}
[ -n "$(value jaren.drive SpanId)" ] && [ -n "$(value jaren.task SpanId)" ]
[ "$(value jaren.task ParentSpanId)" = "$(value jaren.drive SpanId)" ]
[ "$(value bank.charge ParentSpanId)" = "$(value jaren.task SpanId)" ]
echo "a drive, its task and the handler's own call are one trace"
