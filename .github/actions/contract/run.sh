#!/bin/bash
# Run the contract gate on the caller's tree. Given by action.yml: PYTHON and INPUT_*; by the runner: GITHUB_OUTPUT,
# GITHUB_STEP_SUMMARY, GITHUB_WORKSPACE, RUNNER_TEMP. Every input reaches the program as one argument, never as shell text.
set -euo pipefail
action=$(cd "$(dirname "$0")/../../.." && pwd -P)
venv=$RUNNER_TEMP/kernel-contract-venv
PYTHON=${PYTHON:-python3} "$action/tools/ci/install.sh" run "$venv"

options=()
while IFS= read -r line; do
  [ -z "$line" ] || options+=("--library=$line")
done <<<"${INPUT_LIBRARY:-}"
[ -z "${INPUT_ENGINE:-}" ] || options+=("--package=$INPUT_ENGINE")
[ -z "${INPUT_BASELINE:-}" ] || options+=("--baseline=$INPUT_BASELINE")
[ -z "${INPUT_WITH:-}" ] || options+=("--with=$INPUT_WITH")
[ "${INPUT_INCLUDE_GUARDED:-false}" != true ] || options+=(--include-guarded)

# One run: annotations, and beside them what is uploaded, summed up and kept. Paths in it are relative to
# the workspace; the tree is given the same way.
cd "$GITHUB_WORKSPACE"
sarif=$RUNNER_TEMP/kernel-contract.sarif
report=$RUNNER_TEMP/kernel-contract.json
summary=$RUNNER_TEMP/kernel-contract.md
rm -f "$sarif" "$report" "$summary"
status=0
"$venv/bin/pinproof" contract "./${INPUT_TREE:-.}" --github --output="sarif=$sarif" --output="json=$report" \
  --output="markdown=$summary" ${options[@]+"${options[@]}"} || status=$?
echo "exit-code=$status" >>"$GITHUB_OUTPUT"
[ -f "$sarif" ] || exit 0 # it stopped before it had a result; the exit code says so
printf 'sarif=%s\nreport=%s\n' "$sarif" "$report" >>"$GITHUB_OUTPUT"
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$summary" >>"$GITHUB_STEP_SUMMARY"
