"""The floor's words for what the ledger has names for: accounts, kinds of entries, keys of the configuration. Pure.

docs/WORDS.md has the reasons; a name that is not known here is shown as it stands, so that nothing is hidden.
"""

from controller.acts import KINDS
from controller.refusal import WORDS

ACCOUNT_WORDS = {
    "display": "displayed", "reserve": "next-jackpot money", "overflow": "above the limit", "pending": "pending awards",
    "house": "the house", "players": "the players", "paid": "paid",
}
_ENTRIES = {
    "init": "beginning of the ledger", "opening": "opening of a meter", "config": "configuration in force",
    "lock": "wagers locked", "hits": "winning hands", "void": "misdeal", "close": "end of a game",
    "count": "chip count", "loss": "loss", "loss-accepted": "loss accepted",
    "stop": "book stopped", "clear": "book cleared",
    "limit-waits": "a limit waits for the next reset",
}
"""Kinds of entries that no person makes; those of acts have the acts' own titles."""
_KEYS = {
    "reserve_rate": "rate for next-jackpot money", "reserve_surplus": "next-jackpot money left over at a reset",
    "reserve_to_house": "the house may take next-jackpot money", "overflow": "what is above the limit",
    "below_seed": "left below the seed", "tie_policy": "several 100% hands of a game",
    "order": "order of shares and 100% hands", "tray_limit": "paid by the dealer up to", "device": "table unit",
    "unreasonable_contribution": "most of one lock-out",
}
"""Keys of the configuration whose own names are not the floor's."""
_REASONS = {reason.value: words[0] for reason, words in WORDS.items()}


def kind_words(kind: str) -> str:
    """What an entry of a kind is: the act's own title, or what the controller entered."""
    if kind in KINDS:
        return KINDS[kind].title
    return _ENTRIES.get(kind, kind)


def account_words(account: str) -> str:
    """An account of a meter, as its page names it."""
    return ACCOUNT_WORDS.get(account, account)


def key_words(path: str) -> str:
    """The path of a key, ``meter pg-link overflow``, with its last name in the floor's words."""
    where, _, key = path.rpartition(" ")
    return f"{where} {_KEYS.get(key, key)}".strip()


def reason_words(reason: str) -> str:
    """Why a message was not accepted."""
    return _REASONS.get(reason, reason)
