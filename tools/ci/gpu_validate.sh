#!/bin/sh
# On a hosted machine: take in the record that a GPU machine made, as data. Given: RELEASE, RECORD, RUNNER_TEMP.
# The machine that made it is not trusted: hashes must match this checkout and this release.
set -eu
cd "$(dirname -- "$0")/../.."
tree=$RUNNER_TEMP/vllm-$RELEASE
.venv/bin/pinproof fetch "vllm==$RELEASE" "$tree"
.venv/bin/pinproof evidence add "$RECORD" 0001 "$tree"
git status --short -- patches
