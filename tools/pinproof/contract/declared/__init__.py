"""What a library declares: its modules, functions and classes, read without running any of it."""
