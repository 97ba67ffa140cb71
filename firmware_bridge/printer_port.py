"""The port of a serial receipt printer: raw, 8N1, at its speed; the printer may hold us back with XOFF.

A printer on USB or parallel port, a pipe and a file have no speed and are left alone.
"""

import os
import termios
from typing import Final

_INPUT, _OUTPUT, _CONTROL, _LOCAL, _IN_SPEED, _OUT_SPEED = range(6)
_SPEEDS: Final = {
    1200: termios.B1200, 2400: termios.B2400, 4800: termios.B4800, 9600: termios.B9600, 19_200: termios.B19200,
    38_400: termios.B38400, 57_600: termios.B57600, 115_200: termios.B115200,
}


def set_up(handle: int, baud: int) -> None:
    """Set an open serial port to a speed in baud; anything that is no terminal line is left as it is.

    Raises OSError where the port refuses, ValueError for a speed that no serial printer has.
    """
    if baud not in _SPEEDS:
        raise ValueError(f"{baud} baud is not a speed of a serial printer")
    if not os.isatty(handle):
        return
    try:
        settings = termios.tcgetattr(handle)
        settings[_INPUT] = termios.IXON  # XON and XOFF of the printer; nothing else is read or changed
        settings[_OUTPUT] = settings[_LOCAL] = 0
        settings[_CONTROL] = termios.CS8 | termios.CLOCAL | termios.CREAD
        settings[_IN_SPEED] = settings[_OUT_SPEED] = _SPEEDS[baud]
        termios.tcsetattr(handle, termios.TCSANOW, settings)
    except termios.error as wrong:
        raise OSError(wrong.args[0], str(wrong.args[-1])) from wrong
