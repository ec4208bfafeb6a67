"""The package index as pip and uv are told to use it: settings, sessions, pages."""
