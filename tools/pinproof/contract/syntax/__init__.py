"""Python source as statements, scopes and bindings; nothing here knows of libraries."""
