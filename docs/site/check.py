"""Checks a site: every link in it leads to a page and a place that are there, and nothing comes from the network.

    check.py SITE

A link to another host may be followed by a reader and is not followed here. A picture, style sheet or script from
another host is an error: the site is read offline.
"""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places.update(given[name] for name in ("id", "name") if given.get(name))
        for name in ("href", "src", "action", "poster", "data"):
            if given.get(name):
                self.links.append((self.getpos()[0], tag, given[name]))


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    pages = {file: Page(file) for file in sorted(site.rglob("*.html"))}
    links = wrong = 0
    for file, page in pages.items():
        for line, tag, link in page.links:
            links += 1
            parts = urllib.parse.urlsplit(link)
            problem = None
            if parts.scheme in ("data", "mailto"):
                continue
            if parts.scheme or parts.netloc:
                if tag != "a":
                    problem = "comes from the network"
            else:
                target = file if not parts.path else (file.parent / urllib.parse.unquote(parts.path)).resolve()
                if target.is_dir():
                    target /= "index.html"
                if not target.is_relative_to(site):
                    problem = "leads out of the site"
                elif not target.exists():
                    problem = "leads to no file"
                elif parts.fragment and target in pages:
                    if urllib.parse.unquote(parts.fragment) not in pages[target].places:
                        problem = "leads to no place of that page"
            if problem:
                wrong += 1
                print(f"{file.relative_to(site)}:{line}: {link} {problem}", file=sys.stderr)
    print(f"{len(pages)} pages, {links} links, {wrong} wrong")
    return 1 if wrong or not links else 0


if __name__ == "__main__":
    sys.exit(main())
