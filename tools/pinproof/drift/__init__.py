"""The drift watch: what came out since the last look, and what it breaks."""
