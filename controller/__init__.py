"""The controller: meters, ledger, signs and pages. ``meterd`` runs it, ``meterctl`` asks it."""
