"""`python -m jumok` is `jumok`."""

from jumok.cli.main import main

main()
