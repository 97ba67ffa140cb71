"""Configurations as editors on other systems leave them."""

from pathlib import Path

import pytest

from tests.floor_files import FLOOR, SHEET_1, contract_floor


@pytest.mark.parametrize("file", [FLOOR, SHEET_1])
def test_a_byte_order_mark_is_named_with_what_to_do(file: str, tmp_path: Path) -> None:
    """CF-01: people see no such mark in their editor, so the line and column of a TOML error would not help them."""
    copy = contract_floor(tmp_path)
    path = tmp_path / file
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert f"{file}: byte 0: a byte order mark; save the file as UTF-8 without a byte order mark" in copy.refused()
