"""JupyterLab's Validate button, answered by `grading.check.findings`.

nbgrader's button asks the server, whose own answer runs the file as it is, knows nothing of copied
cells, and takes a warning on stderr for a failed test. As a server extension, this module answers
in its place, in the form that the button expects:

    jupyter lab --ServerApp.jpserver_extensions="{'grading.check.validate': True}"

`make lab` does so. Extensions are loaded by name, and the first one that answers an address wins:
this one comes before nbgrader's.
"""

from __future__ import annotations

import html
import json
from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from tornado import web

from grading.check import findings
from grading.check.findings import Report
from grading.course.notebooks import ROOT, NotebookError
from grading.feedback import words

#: The button heads each text with "The following cell failed", whatever is in it.
_NO_HEADING = "<style>#validation-message > div > p { display: none }</style>"


def answer(report: Report) -> dict:
    """Return a report as the button shows it: points, what to mend, and each task's state."""
    # The button's own word of success is "all the tests", and it knows of no hidden ones.
    parts = [(findings.PASSES, findings.MORE)] if report.fine else []
    parts += [
        (f"{item.what[:1].upper()}{item.what[1:]}.", item.advice)
        for item in report.items
        if item.mend
    ]
    for task in report.failed:
        told = [
            f"{aspect}: {message.kind}: {message.text}".rstrip(": ")
            if message.kind
            else f"{aspect}: {message.text}"
            for aspect, message in task.failed
        ]
        if task.unrun:
            told.append(words.failures(task.tests, 0, task.unrun))
        parts.append((f"Not right yet: {task.title}, {task.score}", "\n".join(told)))
    for state, tasks in (("Open", report.open), ("Solved", report.solved)):
        if tasks:
            parts.append((state, "\n".join(f"{t.title}, {t.score}" for t in tasks)))
    # The button takes the first text as it is, and the second as HTML, in lines that don't wrap.
    shown = "\n\n".join(
        f"<b>{html.escape(what)}</b>" + (f"\n{html.escape(more)}" if more else "")
        for what, more in parts
    )
    raw = "\n\n".join(f"{what}\n{more}".rstrip() for what, more in parts)
    wrapped = f'{_NO_HEADING}<span style="white-space: pre-wrap">{shown}</span>'
    return {"failed": [{"source": report.score, "error": wrapped, "raw_error": raw}]}


def course_of(notebook: Path) -> Path:
    """Return the course to which a notebook belongs: the nearest folder above with exercises/."""
    return next(
        (folder for folder in notebook.parents if (folder / "exercises").is_dir()), ROOT
    )


class ValidateHandler(JupyterHandler):
    """Answers the button."""

    @web.authenticated
    async def post(self) -> None:
        """Check the notebook at the argument or the JSON value `path`."""
        data = (
            self.get_json_body()
            if not self.get_arguments("path")
            else {"path": self.get_argument("path")}
        )
        path = data.get("path") if isinstance(data, dict) else None
        root = Path(self.settings["server_root_dir"]).expanduser().resolve()
        if not isinstance(path, str):
            raise web.HTTPError(400, "path: expected the path of a notebook")
        notebook = (root / path.lstrip("/")).resolve()
        if not notebook.is_relative_to(root):
            raise web.HTTPError(403, "path: outside of the server's folder")
        try:
            report = await findings.check_async(notebook, course_of(notebook))
            found = {"success": True, "value": answer(report)}
        except NotebookError as error:
            found = {"success": False, "value": str(error)}
        self.finish(json.dumps(found))


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Tell Jupyter what to load."""
    return [{"module": "grading.check.validate"}]


def _load_jupyter_server_extension(app: ServerApp) -> None:
    """Answer the button's address."""
    address = url_path_join(app.web_app.settings["base_url"], "/assignments/validate")
    app.web_app.add_handlers(".*$", [(address, ValidateHandler)])
