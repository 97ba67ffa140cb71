"""The supervisors' pages, the sign page and the JSON API: they look but cannot touch (design section 1)."""
