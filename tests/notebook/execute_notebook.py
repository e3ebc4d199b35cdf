# SPDX-License-Identifier: MIT
"""Executes cells in a kernel, and writes the notebook and its HTML. Needs the environment with Jupyter.

usage: execute_notebook.py KERNEL CELLS.json OUTPUT (without suffix)
"""

import json
import sys

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

kernel, cells, output = sys.argv[1:]
with open(cells, encoding="utf-8") as file:
    sources = json.load(file)
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
NotebookClient(notebook, kernel_name=kernel, allow_errors=True, timeout=300).execute()
nbformat.write(notebook, output + ".ipynb")
exporter = HTMLExporter()
# The page must open without a network.
exporter.require_js_url = exporter.mathjax_url = exporter.mermaid_js_url = exporter.jquery_url = ""
html, _ = exporter.from_notebook_node(notebook)
with open(output + ".html", "w", encoding="utf-8") as file:
    file.write(html)
