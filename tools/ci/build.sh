#!/bin/sh
# Builds the sdist and the wheel into dist/, the same bytes for the same commit, and tries the wheel.
# Given by the workflow: GITHUB_REF_NAME, the tag, which must name the version.
set -eu
cd "$(dirname -- "$0")/../.."
python=$PWD/.venv/bin/python
version=$("$python" -c 'import pinproof; print(pinproof.__version__)')
if [ "${GITHUB_REF_NAME:-}" != "v$version" ]; then
    printf '::error::the tag is %s, the version v%s\n' "${GITHUB_REF_NAME:-none}" "$version"
    exit 2
fi
grep -q "^## $version (....-..-..)" CHANGELOG.md || {
    printf '::error::CHANGELOG.md has no dated section for %s\n' "$version"
    exit 2
}
out=${OUT:-$PWD/dist}
rm -rf "$out"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
"$python" -m build --no-isolation --outdir "$out" .

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
"$python" -m zipfile -e "$out/pinproof-$version-py3-none-any.whl" "$scratch"
cd "$scratch" # nothing of the checkout is on the path: the wheel brings its own patches
export PYTHONPATH="$scratch"
[ "$("$python" -m pinproof --version)" = "pinproof $version" ]
"$python" -m pinproof lint
