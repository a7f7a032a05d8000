"""`python -m bilm` and `torchrun -m bilm`: the same as the `bilm` command."""

from bilm.cli import main

main()
