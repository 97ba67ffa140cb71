"""``make bench``: the speed of the spine, as ratios against bare loops in the same run. Not part of ``make test``."""
