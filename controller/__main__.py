"""``meterd --config FILE``."""

import argparse
import sys
from pathlib import Path

from controller.daemon import VERSION
from controller.service import run


def main() -> None:
    """The daemon's program."""
    parser = argparse.ArgumentParser(prog="meterd", description="Progressive meter controller: the daemon.")
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the floor's TOML file")
    parser.add_argument("--version", action="version", version=f"meterd {VERSION}")
    sys.exit(run(parser.parse_args().config))


if __name__ == "__main__":
    main()
