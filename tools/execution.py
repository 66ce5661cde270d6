"""How the book's notebooks are executed: jupyter-cache's parallel executor, on other kernels.

Kernels that start at the same moment can be given the same TCP port; on Unix sockets in a
folder of their own they cannot. And the last chapters, which train most, begin first, so that
no processor waits for one of them at the end.
"""

import logging
import multiprocessing
import tempfile
from pathlib import Path

from jupyter_cache.executors.base import ExecutorRunResult
from jupyter_cache.executors.basic import (
    ExecutionWorkerLocalMProc,
    JupyterExecutorLocalMproc,
    ProcessData,
)
from jupyter_cache.executors.utils import single_nb_execution
from traitlets.config import Config


class Worker(ExecutionWorkerLocalMProc):
    """Executes one notebook in its own folder, its kernel's sockets in one that is this user's."""

    @staticmethod
    def execute(project_nb, data):
        """Return jupyter-cache's result of executing ``project_nb`` as ``data`` says."""
        with tempfile.TemporaryDirectory(prefix="kernel-") as sockets:
            settings = Config(KernelManager={"transport": "ipc", "ip": str(Path(sockets, "s"))})
            return single_nb_execution(
                project_nb.nb, cwd=str(Path(project_nb.uri).parent), timeout=data.timeout,
                allow_errors=data.allow_errors, config=settings)


class LastFirstExecutor(JupyterExecutorLocalMproc):
    """Executes the notebooks in parallel, one a processor, the last of them first."""

    def run_and_cache(self, *, filter_uris=None, filter_pks=None, timeout=30,
                      allow_errors=False, force=False):
        """Execute what the cache lacks; return the addresses by how it ended."""
        records = self.get_records(filter_uris, filter_pks, clear_tracebacks=True, force=force)
        jobs = [ProcessData(record.pk, record.uri, self.cache, timeout, allow_errors)
                for record in reversed(records)]
        multiprocessing.log_to_stderr(logging.WARNING)  # why a notebook could not be started
        with multiprocessing.Pool() as pool:
            results = list(pool.imap_unordered(Worker(), jobs))
        return ExecutorRunResult(*([uri for code, uri in results if code == ending]
                                   for ending in range(3)))
