"""A report's description as one web page that needs nothing beside it: styles and figures are in it."""

import re
from collections.abc import Mapping
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from probing.report.document import Document, Picture, plain, spans

_TEMPLATE = "page.html.jinja"
_OF_THE_FILE = r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>|<title>.*?</title>"


def html_page(document: Document, drawings: Mapping[str, str]) -> str:
    """Return the whole report as HTML.

    Parameters
    ----------
    document : Document
    drawings : mapping from stem to SVG
        Of each picture, as `canvas.save` returns it.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"spans": spans, "plain": plain, "slug": slug}
    template = environment.from_string(files(__package__).joinpath(_TEMPLATE).read_text(encoding="utf-8"))
    inline = {picture.stem: inline_svg(drawings[picture.stem], picture) for picture in document.pictures()}
    return template.render(document=document, inline=inline) + "\n"


def slug(text: str) -> str:
    """Return text as the name of a place on the page."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def inline_svg(svg: str, picture: Picture) -> Markup:
    """Return an SVG file as an element of a page, with a title and a description for whoever does not see it.

    What names a thing within the file is named after the picture, so that several can stand on one page; what would
    speak of the whole page (a style sheet) or of other places (namespaces, metadata) is left out.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(_OF_THE_FILE, "", body, flags=re.S)
    opening, _, rest = body.partition(">")
    box = re.search(r'viewBox="([^"]*)"', opening)
    name = slug(picture.stem)
    rest = re.sub(r'\bid="', f'id="{name}-', rest)
    rest = re.sub(r'(xlink:href="#|url\(#)', rf"\1{name}-", rest)
    rest = re.sub(r"; font-family: [^\"]*?sans-serif(?=[;\"])", "", rest)  # the page says it once, for all text
    title = picture.figure.get_suptitle().replace("\n", " ") or picture.stem
    return Markup(
        f'<svg role="img" aria-labelledby="{name}-title {name}-desc" viewBox="{box.group(1) if box else ""}">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(picture.alternative)}</desc>{rest.strip()}'
    )
