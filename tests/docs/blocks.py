"""Finding the code in Markdown: fenced blocks, and the commands in those of a shell."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

_BLOCK = re.compile(r"(?P<run><!-- run -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_ENDS_A_COMMAND = {"&&", "||", "|", ";", "&"}


class Block(NamedTuple):
    """A fenced block: where it starts, its language, its text, and whether it is marked to be run."""

    page: Path
    line: int
    language: str
    code: str
    marked: bool

    @property
    def place(self) -> str:
        """Return page:line, the way every message names a block."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(language: str) -> list[Block]:
    """Return the blocks of one language of all pages."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in _BLOCK.finditer(text):
            if match["language"] == language:
                line = text.count("\n", 0, match.start("code"))
                found.append(Block(page, line, language, match["code"], bool(match["run"])))
    return found


def commands(shell: str) -> Iterator[list[str]]:
    """Yield the words of each command: comments, redirections and settings of variables before it are left out."""
    for line in shell.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
        lexer.whitespace_split = True
        words: list[str] = []
        redirected = False
        for word in [*lexer, ";"]:
            if word in _ENDS_A_COMMAND:
                while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                    words.pop(0)
                if words:
                    yield words
                words = []
            elif word in (">", "<", ">>"):
                redirected = True
            elif redirected:
                redirected = False
            else:
                words.append(word)
