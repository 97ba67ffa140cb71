"""Acts that every book keeps: a day is closed, and a shift handed over, for the whole floor."""

from hashlib import sha256

from controller.acts import Act, Acted, ActRefused, Why
from controller.books import Books

WHOLE_FLOOR = frozenset(("day-closed", "handed-over"))


async def act_everywhere(books: Books, asked: Act) -> Acted:
    """Do an act in every book; one that has it already (this was cut off before) is left as it is.

    Raises ActRefused as ``Books.act``; ``already-done`` only when every book has it.
    """
    done: list[Acted] = []
    before: ActRefused | None = None
    for book in books.floors:
        mine = asked if not done and before is None else asked._replace(
            id=sha256(f"{asked.id} {book}".encode()).hexdigest()[:48])
        try:
            done.append(await books.act(book, mine))
        except ActRefused as no:
            if no.why is not Why.ALREADY_DONE:
                raise
            before = no
    if not done and before is not None:
        raise before
    return done[0]
