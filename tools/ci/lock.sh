#!/bin/sh
# Renews requirements/*.txt: every version pinned with its hashes, for each supported Python and platform.
set -eu
cd "$(dirname -- "$0")/../.."
compile() {
    out=$1
    shift
    UV_CUSTOM_COMPILE_COMMAND='tools/ci/lock.sh' uv pip compile --quiet --universal --python-version 3.10 \
        --generate-hashes --no-emit-index-url --no-emit-find-links --output-file "$out" "$@"
}
compile requirements/run.txt pyproject.toml requirements/build.in
compile requirements/dev.txt pyproject.toml --extra dev requirements/build.in --constraints requirements/run.txt
