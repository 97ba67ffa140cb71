"""The game of section 688a.12 at the table: cards, hands, what every wager is paid, and the odds. Pure."""
