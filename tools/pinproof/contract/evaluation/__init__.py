"""What names and expressions of the tree can stand for."""
