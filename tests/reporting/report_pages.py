"""Views, hostile names and parsed pages for the tests of reports."""

from html.parser import HTMLParser

HOSTILE = '</script><img src=x onerror="window.hit=1">\'&<b>'
VIEWS = {"sepal": [0, 1], "petal": [2, 3]}


class Page(HTMLParser):
    """Elements of a page: tag, attributes, and the text of scripts."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.scripts, self.text, self._inside = [], [], [], None
        self.feed(html)
        self.tags = [tag for tag, _ in self.elements]

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.text.append(data)

    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]
