"""How the book's notebooks are executed: in parallel, on kernels over Unix sockets.

Kernels that start at the same moment can be given the same TCP port; on Unix sockets in a
folder of their own they cannot. The last chapters, which train most, begin first, so that no
processor waits for one of them at the end. One process writes the cache: of two that write at
once, jupyter-cache (1.0.1) can take the other's new entry for one too many and delete it.
With each entry goes what the notebook depends on (see `dependencies`).
"""

import os
import resource
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from jupyter_cache.base import ProjectNb
from jupyter_cache.cache.db import NbProjectRecord
from jupyter_cache.executors.base import ExecutorRunResult, JupyterExecutorAbstract
from jupyter_cache.executors.utils import create_cache_bundle, single_nb_execution
from traitlets.config import Config

from tools import dependencies

RECORDER = Path(__file__).resolve().parent / "recorder"
PYTHONPATH = os.environ.get("PYTHONPATH")


def execute(root, notebook, path, timeout, allow_errors):
    """Execute ``notebook`` in the folder of ``path``.

    Returns jupyter-cache's result of it, and what goes with it into the cache: what it depends on
    in the course at ``root``, and the processor's time.
    """
    with tempfile.TemporaryDirectory(prefix="kernel-") as scratch:
        log = Path(scratch, "reads")
        os.environ.update(
            COURSE_ROOT=str(root),
            COURSE_READS=str(log),
            PYTHONPATH=os.pathsep.join(filter(None, [str(RECORDER), PYTHONPATH])),
        )
        began, before = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
        settings = Config(
            KernelManager={"transport": "ipc", "ip": str(Path(scratch, "s"))}
        )
        result = single_nb_execution(
            notebook,
            cwd=str(Path(path).parent),
            timeout=timeout,
            allow_errors=allow_errors,
            config=settings,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        depends = dependencies.collect(root, log, began)
        return result, {"depends": depends, "cpu_seconds": round(spent, 2)}


class LastFirstExecutor(JupyterExecutorAbstract):
    """Executes the notebooks in parallel, one a processor, the last of them first."""

    def __init__(self, cache, root):
        """Execute what ``cache`` lacks of the course at ``root``."""
        super().__init__(cache)
        self.root = root

    def run_and_cache(
        self,
        *,
        filter_uris=None,
        filter_pks=None,
        timeout=30,
        allow_errors=False,
        force=False,
    ):
        """Execute what the cache lacks; return the addresses by how it ended.

        What a notebook failed by, in a cell or before the first of them, is its record's
        traceback.
        """
        records = self.get_records(
            filter_uris, filter_pks, clear_tracebacks=True, force=force
        )
        ended = ExecutorRunResult([], [], [])
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            running = {}
            for record in reversed(records):
                notebook = self.cache.get_project_notebook(record.pk).nb
                future = pool.submit(
                    execute, self.root, notebook, record.uri, timeout, allow_errors
                )
                running[future] = record
            for future in as_completed(running):
                record = running[future]
                error = future.exception()
                if error is not None:
                    ended.errored.append(record.uri)
                    self._note(record, "".join(traceback.format_exception(error)))
                    continue
                result, data = future.result()
                if result.err:
                    ended.excepted.append(record.uri)
                    self._note(record, result.exc_string)
                else:
                    ended.succeeded.append(record.uri)
                    self._store(record, result, data)
        return ended

    def _note(self, record, text):
        """Write down why a notebook failed."""
        NbProjectRecord.set_traceback(record.uri, text, self.cache.db)

    def _store(self, record, result, data):
        """Put an executed notebook into the cache, with what `execute` says of it."""
        project = ProjectNb(record.pk, record.uri, result.nb, record.assets)
        bundle = create_cache_bundle(
            project, result.cwd, None, result.time, result.exc_string
        )
        bundle.data.update(data)
        self.cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
