"""OpenML without a network: what `fetch_openml` asks for is read from the files beside this one."""

import re
from email.message import Message
from io import BytesIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import BaseHandler
from urllib.response import addinfourl

RECORDED = Path(__file__).parent / "openml"


class RecordedOpenML(BaseHandler):
    """Answer the requests that urllib makes of OpenML from files, and no others."""

    def __init__(self, folder=RECORDED):
        self.folder = folder
        self.asked = []

    def https_open(self, request):
        self.asked.append(request.selector)
        for pattern, name in (
            (r"/api/v1/json/data/(\d+)", "description.json.gz"),
            (r"/api/v1/json/data/features/(\d+)", "features.json.gz"),
            (r"/api/v1/json/data/qualities/(\d+)", "qualities.json.gz"),
            (r"/data/v1/download/(\d+)(/.*)?", "data.arff.gz"),
        ):
            match = re.fullmatch(pattern, request.selector)
            path = self.folder / match[1] / name if match else None
            if path is not None and path.exists():
                headers = Message()
                headers["Content-Encoding"] = "gzip"
                return addinfourl(BytesIO(path.read_bytes()), headers, request.full_url, 200)
        # OpenML's own way to say that there is nothing; scikit-learn does not ask again.
        raise HTTPError(request.full_url, 412, "Precondition failed", Message(), BytesIO())
