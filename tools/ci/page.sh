#!/bin/sh
# Make the site: the report, and the documentation below docs/. Given: GITHUB_REPOSITORY, RUNNER_TEMP.
set -eu
cd "$(dirname -- "$0")/../.."
status=0
.venv/bin/pinproof report -o "$RUNNER_TEMP/page" \
    --url "https://${GITHUB_REPOSITORY%%/*}.github.io/${GITHUB_REPOSITORY#*/}/" || status=$?
# 5 with a page: a release or library could not be read, and the page says which
[ "$status" -eq 0 ] || { [ "$status" -eq 5 ] && [ -f "$RUNNER_TEMP/page/index.html" ]; } || exit "$status"
NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet -f tools/ci/mkdocs.yml -d "$RUNNER_TEMP/page/docs"
