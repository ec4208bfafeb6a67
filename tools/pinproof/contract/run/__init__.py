"""One run over a tree: which files, in what order, in how many processes, and what is remembered."""
