#!/bin/sh
# Runs the example end to end: builds jaren, runs the workflow until it waits for a person, approves, shows the report.
# Needs: cargo and python3. Usage: examples/weather/run.sh [FOLDER for the store and the report]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cargo build --quiet --locked --manifest-path "$here/../../Cargo.toml" --package jaren-cli
target=$(cd "${CARGO_TARGET_DIR:-$here/../../target}" && pwd)
PATH=$target/debug:$PATH
cd "$out"

step() { printf '\n$ %s\n' "$*"; }

step jaren check workflow.json --tasks tasks.toml
jaren check "$here/workflow.json" --tasks "$here/tasks.toml"

step jaren run workflow.json --tasks tasks.toml --input input.json --id weather-1 --no-wait
printf '{"file": "weather.csv", "report": "%s/report.md"}' "$out" > input.json
status=0
jaren run "$here/workflow.json" --tasks "$here/tasks.toml" --input input.json --id weather-1 --no-wait || status=$?
# 10 means: the run waits, stored in jaren.db. Here a reading of 1048 miles an hour wants a person's eye.
if [ "$status" -ne 10 ]; then exit "$status"; fi

step jaren show weather-1
jaren show weather-1

step "jaren send weather-1 approve --payload '{\"by\": \"you\"}' --id review-1"
jaren send weather-1 approve --payload '{"by": "you"}' --id review-1

step cat report.md
cat report.md
grep -q 'Approved by you' report.md

printf '\nThe store and the report are in %s\n' "$out"
