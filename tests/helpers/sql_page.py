# SPDX-License-Identifier: MIT
"""Questions in SQL of a page of docs/, with the answers that the page shows."""

import dataclasses
import re


@dataclasses.dataclass
class Question:
    title: str
    statements: list  # SQL; the last one is the question
    answer: list  # lines


def questions(page):
    """Returns the questions of a page: each begins with a comment, `-- 1. ...`, and ends with the answer."""
    with open(page, encoding="utf-8") as file:
        (block,) = re.findall(r"^```sql\n(.*?)^```\n", file.read(), re.M | re.S)
    blocks = re.findall(r"^-- (\d+\.[^\n]*)\n(.*?)(?:\n\n|\Z)", block, re.M | re.S)
    found = []
    for title, body in blocks:
        lines = body.splitlines()
        answer = [line[3:].strip() for line in lines if line.startswith("-- ")]
        sql = "\n".join(line for line in lines if not line.startswith("--"))
        found.append(Question(title, [one.strip() for one in sql.split(";") if one.strip()], answer))
    return found


def shown(rows):
    """Returns rows as a page shows them. A long answer is cut after three rows."""
    lines = [", ".join("null" if value is None else str(value) for value in row) for row in rows]
    return lines if len(lines) <= 4 else [*lines[:3], "..."]
