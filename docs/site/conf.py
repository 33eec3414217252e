"""Sphinx's settings for the site; scripts/site calls it."""
import os

from docutils import nodes
from sphinx import addnodes
from sphinx.domains.cpp import CPPDomain

project = "dynpar"
author = "the dynpar authors"
html_title = f"dynpar {os.environ['DYNPAR_SITE_VERSION']}"
extensions = ["myst_parser", "breathe"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}

myst_heading_anchors = 6  # as GitHub makes them, so that links between documents hold in both

breathe_projects = {"dynpar": os.environ["DYNPAR_SITE_XML"]}
breathe_default_project = "dynpar"
breathe_show_include = False
primary_domain = "cpp"
highlight_language = "text"
cpp_id_attributes = ["__device__", "__host__", "__global__"]

html_theme = "furo"
html_static_path = [os.path.join(os.path.dirname(__file__), "style.css")]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}


class Names(CPPDomain):
    """What the search finds by name: not every parameter of a function, too."""

    def get_objects(self):
        return (found for found in super().get_objects() if not found[2].endswith("Param"))


def names_in_code(app):
    """What names of the reference may be in documents: a name -> its page and place there; None if it is not unique."""
    found = {}
    for name, _, kind, page, place, _ in app.env.get_domain("cpp").get_objects():
        parts = name.split("::")
        for first in range(len(parts)):
            short = "::".join(parts[first:])
            # A single word is a name for sure only if no other code would be called so.
            if first < len(parts) - 1 or "_" in short and kind in ("class", "macro", "enum", "type"):
                found[short] = (page, place) if found.get(short, (page, place)) == (page, place) else None
    for name, _, kind, page, place, _ in app.env.get_domain("c").get_objects():
        found[name] = (page, place)
    return found


def link_names(app, doctree, page):
    """Public names that a text has in `code` are links to the reference."""
    names = names_in_code(app)
    for literal in list(doctree.findall(nodes.literal)):
        there = names.get(literal.astext())
        inside = literal
        while there and inside is not None:
            if isinstance(inside, (nodes.reference, nodes.title, addnodes.desc_signature)):
                there = None
            inside = inside.parent
        if there and there[0] != page:
            link = nodes.reference("", "", internal=True)
            link["refuri"] = app.builder.get_relative_uri(page, there[0]) + "#" + there[1]
            literal.replace_self(link)
            link += literal


def setup(app):
    app.add_domain(Names, override=True)
    app.connect("doctree-resolved", link_names)
