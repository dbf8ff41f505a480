"""`python -m ironcurtain`: the command line, where the console script is not on the path."""

from ironcurtain.cli.main import main

main()
