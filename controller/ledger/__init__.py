"""The ledger: the only room that touches the database (design section 8).

``schema`` tables and migrations, ``chain`` hashes, ``place`` where a ledger is and who holds it, ``writer`` the one
writer, ``reader`` everything read, ``verify`` proof.
"""
