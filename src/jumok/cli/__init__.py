"""The command line: words to one function call to printed text."""
