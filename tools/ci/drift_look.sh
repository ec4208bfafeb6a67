#!/bin/bash
# Look for new releases. Given: GITHUB_REPOSITORY, GITHUB_TOKEN (may only read), RUNNER_TEMP, GITHUB_OUTPUT.
# Leaves $RUNNER_TEMP/drift.json and says in `changed` whether there is anything to report.
set -euo pipefail
cd "$(dirname "$0")/../.."
status=0
.venv/bin/pinproof drift --repo "$GITHUB_REPOSITORY" --json >"$RUNNER_TEMP/drift.json" || status=$?
# 1: something breaks, which is what the issue is for; anything else is a watch that cannot see
case $status in 0 | 1) ;; *) exit "$status" ;; esac
changed=$(python3 -I -c 'import json, sys; d = json.load(sys.stdin); print(str(bool(d["releases"] or d["libraries"])).lower())' <"$RUNNER_TEMP/drift.json")
echo "changed=$changed" >>"$GITHUB_OUTPUT"
