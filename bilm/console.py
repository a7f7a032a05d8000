"""What the two command lines share: errors without tracebacks, messages on standard error, progress bars."""

import inspect
import io
import logging
import signal
import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from bilm.errors import UserError
from bilm.version import __version__

_Item = TypeVar("_Item")

console = Console(stderr=True, soft_wrap=True, highlight=False)
"""Everything but a command's result goes here, so that results can be piped."""


def command_line(name: str, description: str) -> typer.Typer:
    """Return a command line without commands, but with the options that both have."""
    app = typer.Typer(name=name, help=description, no_args_is_help=True, pretty_exceptions_enable=False)

    @app.callback(invoke_without_command=True)
    def _options(
        version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
        debug: Annotated[bool, typer.Option("--debug", help="Show an error's traceback (may stand anywhere).")] = False,
    ) -> None:
        if version:
            typer.echo(__version__)
            raise typer.Exit

    return app


class _Stopped(BaseException):
    """Ctrl-C or SIGTERM. No KeyboardInterrupt: the command-line library would swallow that one."""


def run(app: typer.Typer, when_stopped: str = "stopped; nothing half-written is left") -> None:
    """Run a command line: exit code 0 done, 1 failed, 2 wrong usage, 130 or 143 stopped by Ctrl-C or SIGTERM.

    `--debug`, anywhere on the line, shows the traceback of an error. `when_stopped` is what a stopped command says.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    for stream in (sys.stdout, sys.stderr):  # what a locale's encoding lacks is shown escaped instead of ending it all
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")  # a result that is piped is data: the same bytes in every locale
    for command in app.registered_commands:
        command.help = _paragraphs(inspect.getdoc(command.callback) or "")
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    if console.is_terminal:
        handler = RichHandler(console=console, show_time=False, show_path=False)
        logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[handler])
    else:  # a log file: one line a message, whatever its length
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    try:
        app([argument for argument in arguments if argument != "--debug"])
    except UserError as error:
        _fail(str(error), debug)
    except _Stopped as stopped:
        console.print(when_stopped)
        sys.exit(128 + int(stopped.args[0]))
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), debug)
    except Exception as error:  # the last resort of a command line: one line instead of a traceback
        _fail(f"unexpected {type(error).__name__}: {error} (--debug shows where)", debug)


def progress_bar() -> Progress:
    """Return a bar on standard error that vanishes when it is done; nothing where that is no terminal."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def track(items: Iterable[_Item], description: str, total: int | None) -> Iterator[_Item]:
    """Pass items on and show how many of `total` (None: not known) have gone by."""
    with progress_bar() as progress:
        yield from progress.track(items, total=total, description=description)


def _paragraphs(text: str) -> str:
    """Let a docstring's paragraphs flow: typer would break lines where the source does, whatever the screen's width."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Stopped(number)


def _fail(message: str, debug: bool) -> None:
    if debug:
        console.print_exception()
    console.print("[bold red]error:[/]", Text(message))  # brackets in file names and shapes are no styles
    sys.exit(1)
