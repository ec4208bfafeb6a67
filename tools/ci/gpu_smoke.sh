#!/bin/bash
# One smoke run on a GPU machine. Given by the workflow: SHA, RELEASE, RUNNER_TEMP; by the machine's image:
# PINPROOF_PYTHON, an interpreter that has that vLLM. Leaves $RUNNER_TEMP/evidence/smoke.json.
set -euo pipefail
cd "$(dirname "$0")/../.."

refuse() { printf '::error::%s\n' "$*"; exit 2; }

[[ ${SHA:-} =~ ^[0-9a-f]{40}$ ]] || refuse 'SHA must be 40 hex digits'
[[ ${RELEASE:-} =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || refuse 'RELEASE must be a vLLM release'
[ "$(git rev-parse HEAD)" = "$SHA" ] || refuse "the checkout is not $SHA"
[ -n "${PINPROOF_PYTHON:-}" ] || refuse 'the image names no interpreter with vLLM (PINPROOF_PYTHON); see docs/gpu-runners.md'

# The tree's own code runs here. Nothing on this machine may be worth stealing...
secret=$(env -0 | cut -z -d= -f1 | tr '\0' '\n' | grep -E '(TOKEN|SECRET|PASSWORD|CREDENTIALS?|API_KEY)$|^ACTIONS_ID_TOKEN' | head -1 || true)
[ -z "$secret" ] || refuse "this job can read $secret; a GPU job gets no secret"
# ... and nothing may stay for the next job: an ephemeral machine has never run one before.
used=${PINPROOF_MARK:-/var/tmp/pinproof-ran-a-job}
mkdir "$used" 2>/dev/null || refuse 'this machine has run a job before; GPU runners must be ephemeral'

tools/ci/install.sh run
mkdir -p "$RUNNER_TEMP/evidence"
tree=$RUNNER_TEMP/vllm
.venv/bin/pinproof fetch "vllm==$RELEASE" "$tree"

status=0
tools/smoke.sh 0001 "$tree" --python "$PINPROOF_PYTHON" --json >"$RUNNER_TEMP/smoke-result.json" || status=$?
# 1: the proof failed; 5: something could not be proved here. Both are results to keep.
case $status in 0 | 1 | 5) ;; *) exit "$status" ;; esac
.venv/bin/python tools/ci/record_smoke.py "$RUNNER_TEMP/smoke-result.json" 0001 "$tree" "$RUNNER_TEMP/evidence/smoke.json"
exit "$status"
