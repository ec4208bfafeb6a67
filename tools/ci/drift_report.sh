#!/bin/sh
# Report the look of an earlier job. Given: GITHUB_REPOSITORY, GITHUB_TOKEN (writes issues and contents), RUNNER_TEMP.
# What the earlier job left is read as data; it had read wheels that nobody here vouches for.
set -eu
cd "$(dirname -- "$0")/../.."
.venv/bin/pinproof drift --repo "$GITHUB_REPOSITORY" --publish "$RUNNER_TEMP/drift.json"
