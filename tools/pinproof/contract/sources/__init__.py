"""Where a library's signatures come from: a folder, a snapshot, a release, a commit, a vendored copy."""
