"""Whether a paytable is of the game of section 688a.12: hands of other games bear the same names. Pure.

A royal flush in five cards of Mississippi Stud is far rarer than one in seven cards; to reckon or judge it here would
be wrong without a word.
"""

from controller.game.classify import NotThisGame
from controller.game.tables import GameTable

GAME = "face-up-pai-gow-poker"
"""The ``game`` of the paytables of 58 Pa. Code section 688a.12."""


def require_this_game(table: GameTable) -> None:
    """Raises NotThisGame for a paytable that names another game, or none."""
    if table.game != GAME:
        named = f'its game is "{table.game}"' if table.game else "it names no game"
        raise NotThisGame(f'{named}, and only hands of "{GAME}" are known')
