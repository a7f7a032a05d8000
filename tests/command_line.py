"""Running a command of the command line: in this process, which is quick, or in one of its own."""

import contextlib
import io
import logging
import os
import subprocess
import sys
from unittest import mock

import typer

from bilm import console


def run_here(app: typer.Typer, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `app` in this process as the shell would, with `environment` added to the variables."""
    out, err = io.StringIO(), io.StringIO()
    words = [str(argument) for argument in arguments]
    root = logging.getLogger()
    handlers = root.handlers[:]
    root.handlers.clear()  # so that the command sets up its own, as in a new process
    code = 0
    try:
        with (
            mock.patch.object(sys, "argv", ["command", *words]),
            mock.patch.dict(os.environ, {"COLUMNS": "200"} | environment),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            console.run(app)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        root.handlers[:] = handlers
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def run_apart(module: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m module` in a process of its own."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    variables = os.environ | {"COLUMNS": "200"} | environment
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=variables, check=False)
