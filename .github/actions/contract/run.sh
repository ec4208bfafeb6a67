#!/bin/bash
# Run the contract gate on the caller's tree. Given by action.yml: PYTHON and INPUT_*; by the runner: GITHUB_OUTPUT,
# GITHUB_WORKSPACE, RUNNER_TEMP. Every input reaches the program as one argument, never as shell text.
set -euo pipefail
action=$(cd "$(dirname "$0")/../../.." && pwd -P)
venv=$RUNNER_TEMP/kernel-contract-venv
PYTHON=${PYTHON:-python3} "$action/tools/ci/install.sh" run "$venv"

options=()
while IFS= read -r line; do
  [ -z "$line" ] || options+=("--library=$line")
done <<<"${INPUT_LIBRARY:-}"
[ -z "${INPUT_WITH:-}" ] || options+=("--with=$INPUT_WITH")
[ "${INPUT_INCLUDE_GUARDED:-false}" != true ] || options+=(--include-guarded)

# Paths in annotations are relative to the workspace; the tree is given the same way.
cd "$GITHUB_WORKSPACE"
tree=./${INPUT_TREE:-.}
status=0
"$venv/bin/pinproof" contract "$tree" --github ${options[@]+"${options[@]}"} || status=$?
if [ "${INPUT_UPLOAD_SARIF:-false}" = true ]; then
  # signatures and parsed files are cached by now
  "$venv/bin/pinproof" contract "$tree" --sarif ${options[@]+"${options[@]}"} >"$RUNNER_TEMP/kernel-contract.sarif" || [ $? -ne 2 ]
fi
echo "exit-code=$status" >>"$GITHUB_OUTPUT"
