"""What both command lines share: an error is a line whatever the text in it, and so is a progress bar."""

import io

import pytest
import typer
from rich.console import Console

from bilm import console
from bilm.errors import UserError
from tests.command_line import run_here

ODD_TEXT = ["a[/b].yaml", "a\\[/b].yaml", "a\\", "[3, 4]", "[bold]x", "a\\[red]b", ":smile:"]
"""What could be read as styles: closing tags that nothing opened, and backslashes before them."""


@pytest.mark.parametrize("text", ODD_TEXT)
def test_an_error_shows_any_text_as_it_is(text: str) -> None:
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    def fail() -> None:
        raise UserError(text)

    found = run_here(app)
    assert (found.returncode, found.stderr) == (1, f"error: {text}\n")


@pytest.mark.parametrize("text", ODD_TEXT)
def test_a_progress_bar_shows_any_name_as_it_is(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "console", Console(file=screen, force_terminal=True, width=100))
    assert list(console.track(iter("abc"), text, 3)) == ["a", "b", "c"]
    assert text in screen.getvalue()
