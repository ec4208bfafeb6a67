"""Where a plugin overrides or replaces something of its engine, and whether that still fits."""
