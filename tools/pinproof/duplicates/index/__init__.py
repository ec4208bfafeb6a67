"""The local index of a repository's pull requests: SQLite with FTS5. All SQL of the scan is here."""
