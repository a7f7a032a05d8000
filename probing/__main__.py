"""`python -m probing`: the same as the `probing` command."""

from probing.cli import main

main()
