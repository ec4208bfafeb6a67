"""What this probe runs under the user's interpreter."""
