"""What is watched: the libraries, decorators and platforms that the gate knows of, as data."""
