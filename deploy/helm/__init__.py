"""The course on Kubernetes, by the chart of Zero to JupyterHub: see README.md."""
