"""The shipped folder of paytables: one file for each, of any kind, found by its id.

Nothing here is kept: commands read the file that they are asked about, and refuse it with all its problems.
"""

from pathlib import Path

from controller.config import read_toml
from controller.config_reader import Problems, is_id, nearest, shown
from controller.game.tables import GameTable, read_table

SHIPPED = Path(__file__).parents[1] / "config" / "paytables"


def ids(folder: Path) -> list[str]:
    """The ids of the paytables in a folder, sorted; raises ConfigError when it cannot be read."""
    try:
        return sorted(file.stem for file in folder.iterdir() if file.suffix == ".toml")
    except OSError as wrong:
        problems = Problems()
        problems.add(str(folder), "folder", f"cannot be read: {wrong.strerror}", "name a folder with --paytables")
        raise problems.error() from None


def load_table(folder: Path, name: str) -> GameTable:
    """The paytable of that id; raises ConfigError naming what is wrong, or the nearest id where there is none."""
    problems = Problems()
    known = ids(folder)
    if not is_id(name) or name not in known:
        problems.add(str(folder), "paytable", f"there is no paytable {shown(name)}", nearest(name, known))
        raise problems.error()
    raw = read_toml(folder / f"{name}.toml", f"{name}.toml", problems)
    table = read_table(raw, name, f"{name}.toml", problems) if raw is not None else None
    if table is None:
        raise problems.error()
    return table
