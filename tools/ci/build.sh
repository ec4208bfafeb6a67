#!/bin/sh
# Builds the sdist and the wheel into dist/, the same bytes for the same commit, and tries the wheel.
# Given by the workflow: GITHUB_REF_NAME, the tag, which must name the version.
set -eu
cd "$(dirname -- "$0")/../.."
venv=${VENV:-.venv}
version=$("$venv/bin/python" -I -c 'import pinproof; print(pinproof.__version__)')
if [ "${GITHUB_REF_NAME:-}" != "v$version" ]; then
    printf '::error::the tag is %s, the version v%s\n' "${GITHUB_REF_NAME:-none}" "$version"
    exit 2
fi
out=${OUT:-dist}
rm -rf "$out"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
"$venv/bin/python" -I -m build --no-isolation --outdir "$out" .

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
tools/ci/install.sh run "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index \
    --force-reinstall "$out/pinproof-$version-py3-none-any.whl"
cd "$scratch"
[ "$(venv/bin/pinproof --version)" = "pinproof $version" ]
venv/bin/pinproof lint
