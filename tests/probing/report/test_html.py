import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from probing.report.page import write_report

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
VERDICTS = ["supported", "refuted", "undecided"]


class Elements(HTMLParser):
    """Every element of a page in order: its tag, its attributes and the text up to its end."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[tuple[str, list[str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        text: list[str] = []
        self.found.append((tag, dict(attrs), text))
        if tag not in ("meta", "br"):
            self._open.append((tag, text))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for _, text in self._open:
            text.append(data)

    def of(self, *tags: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, " ".join("".join(text).split())) for tag, attributes, text in self.found if tag in tags]


@pytest.fixture
def page(rich_folder: Path) -> str:
    return (rich_folder / "report.html").read_text(encoding="utf-8")


def test_the_page_is_one_file_that_refers_to_nothing_outside_it(page: str) -> None:
    elements = Elements(page)
    targets = [value for _, attributes, _ in elements.found for name, value in attributes.items() if _loads(name)]
    assert targets and all(str(target).startswith("#") for target in targets)
    assert not re.search(r"https?://|@import|url\((?!#)", page)
    assert not elements.of("script", "link", "img", "iframe")


def _loads(attribute: str) -> bool:
    return attribute in ("src", "href", "xlink:href", "srcset", "data")


def test_what_refers_to_a_place_on_the_page_finds_it_and_no_place_is_there_twice(page: str) -> None:
    elements = Elements(page)
    places = [attributes["id"] for _, attributes, _ in elements.found if "id" in attributes]
    wanted = [value[1:] for _, a, _ in elements.found for name, value in a.items() if _loads(name) and value]
    wanted += [one for _, a, _ in elements.found for one in str(a.get("aria-labelledby") or "").split()]
    wanted += re.findall(r"url\(#([^)]+)\)", page)
    assert len(places) == len(set(places))
    assert set(wanted) <= set(places)


def test_every_figure_is_an_image_with_a_title_and_the_gist_of_its_numbers(page: str) -> None:
    drawings = Elements(page).of("svg")
    assert len(drawings) == 6
    assert all(attributes["role"] == "img" for attributes, _ in drawings)
    told = [text for _, text in Elements(page).of("desc")]
    assert any("net: layer 0 88.0, layer 1 95.0, layer 2 94.0, mean 95.1" in text for text in told)
    assert any("pos-upos, selectivity (points) by layer: net 0: 12.00, 1: 24.00, 2: 33.00" in text for text in told)
    assert any("centre of gravity 1.08" in text for text in told)
    assert any("layer 1: 67.5 at 0.1 %" in text for text in told)
    assert any("accuracy of biLM (published): layer 1 97.3, layer 2 96.8" in text for text in told)


def test_the_verdicts_come_first_in_words(page: str) -> None:
    elements = Elements(page)
    assert [text.split()[-1] for a, text in elements.of("span") if a.get("class") == "badge"] == VERDICTS
    first = page.index('class="verdicts"')
    assert first < page.index("<svg") < page.index("How each number was made</h2>")
    assert "+1.00 [+0.40, +1.60] points, p = 0.0002, Holm-adjusted p = 0.0006" in page


def test_what_a_claim_says_is_text_whatever_it_says(page: str) -> None:
    assert "<script>" not in page
    assert "layer 2 reads &lt;script&gt;alert(1)&lt;/script&gt; &amp; better" in page


def test_the_markdown_has_the_same_claims_and_no_element_of_a_page(page: str, rich_folder: Path) -> None:
    text = (rich_folder / "report.md").read_text(encoding="utf-8")
    assert "- **refuted**: layer 2 reads \\<script>alert(1)\\</script> & better than layer 1 (net;" in text
    headings = re.findall(r"^##+ (.*)$", text, flags=re.MULTILINE)
    assert headings == [text for _, text in Elements(page).of("h2", "h3")]


def test_no_level_of_heading_is_skipped_and_the_landmarks_are_there(page: str) -> None:
    elements = Elements(page)
    levels = [int(tag[1]) for tag, *_ in elements.found if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert [attributes for attributes, _ in elements.of("html")] == [{"lang": "en"}]
    assert all(len(elements.of(landmark)) == 1 for landmark in ("header", "nav", "main", "footer"))
    assert 'name="viewport"' in page
    assert "@media print" in page


def test_every_table_has_a_caption_and_headers_with_a_scope(page: str) -> None:
    elements = Elements(page)
    captions = [text for _, text in elements.of("caption")]
    assert len(captions) == len(elements.of("table")) == len(re.findall('<div class="scroll" role="region"', page))
    assert all(captions)
    assert all(attributes["scope"] in ("row", "col") for attributes, _ in elements.of("th"))


def test_the_same_results_give_the_same_page(page: str, rich_folder: Path) -> None:
    write_report(rich_folder)  # a second time
    assert (rich_folder / "report.html").read_text(encoding="utf-8") == page


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH: the page is not opened in a browser")
def test_a_browser_shows_the_verdicts_and_nothing_sticks_out_of_the_page(width: int, page: str, tmp_path: Path) -> None:
    measuring = "<script>document.body.dataset.over = document.documentElement.scrollWidth - innerWidth</script></body>"
    opened = tmp_path / "opened.html"
    opened.write_text(page.replace("</body>", measuring), encoding="utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += [f"--window-size={width},1200", "--dump-dom", opened.as_uri()]
    shown = Elements(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)
    assert [text.split()[-1] for a, text in shown.of("span") if a.get("class") == "badge"] == VERDICTS
    assert int(str(shown.of("body")[0][0]["data-over"])) <= 0
