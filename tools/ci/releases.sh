#!/bin/sh
# What the series is on every vLLM release, and that exporting it from a real release changes no byte.
set -eu
cd "$(dirname -- "$0")/../.."
releases=${RELEASES:-0.26.0..0.33.0}
scratch=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/pinproof.XXXXXX")
trap 'rm -rf "$scratch"' EXIT INT TERM

# 0.28.0 holds the fix; without it, the series applies, and exporting must give back the same files.
.venv/bin/pinproof fetch vllm==0.28.0 "$scratch/tree" --without 0001
.venv/bin/pinproof apply "$scratch/tree"
.venv/bin/pinproof export --check "$scratch/tree"


.venv/bin/pinproof verdict --releases "$releases" >"$scratch/table"
cat "$scratch/table"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    { printf '### The series on vLLM %s\n\n```text\n' "$releases"; cat "$scratch/table"; printf '```\n'; } >>"$GITHUB_STEP_SUMMARY"
fi
