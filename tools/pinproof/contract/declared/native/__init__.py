"""What compiled modules declare, read from C++ sources and from the strings of binaries."""
