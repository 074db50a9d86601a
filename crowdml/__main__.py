"""`python -m crowdml` is the `crowdml` command."""

from crowdml.cli import main

if __name__ == "__main__":
    main()
