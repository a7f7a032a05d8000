"""The one exception type that is shown to users without a traceback."""


class UserError(Exception):
    """Something the user gave cannot be used: the message says what, where, and what to do, in one or two lines."""
