"""Everything that touches a wire: frames, messages, sessions, lines. Knows bytes and no money."""
