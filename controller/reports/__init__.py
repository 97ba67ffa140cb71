"""Reports: what happened in a gaming day or any range, re-added from the ledger's entries alone (docs/REPORTS.md)."""
