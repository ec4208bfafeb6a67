#!/bin/sh
# Renews tools/ci/requirements/*.txt: every version pinned with its hashes, for each supported Python and platform.
set -eu
cd "$(dirname -- "$0")/../.."
compile() {
    out=$1
    shift
    UV_CUSTOM_COMPILE_COMMAND='tools/ci/lock.sh' uv pip compile --quiet --universal --python-version 3.10 \
        --generate-hashes --no-emit-index-url --no-emit-find-links --output-file "$out" "$@"
}
compile tools/ci/requirements/run.txt pyproject.toml tools/ci/requirements/build.in
compile tools/ci/requirements/dev.txt pyproject.toml --extra dev tools/ci/requirements/build.in --constraints tools/ci/requirements/run.txt
