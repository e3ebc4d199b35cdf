# SPDX-License-Identifier: MIT
"""usage: fill_template.py TEMPLATE PAGE OUTPUT.html

Puts the data of PAGE into TEMPLATE. PAGE was written by a program with the small template of tests/cli/page. TEMPLATE
comes from page/build.
"""

import re
import sys


def fill(template, page, output):
    with open(page, encoding="utf-8", newline="") as file:
        source = file.read()
    data = re.findall(r'<script type="application/[^"]*" id="[^"]*">[^<]*</script>\n', source)
    sections = re.findall(r"<section>.*?</section>\n", source, re.S)
    with open(template, encoding="utf-8", newline="") as file:
        text = file.read()
    assert data and sections, page
    text = text.replace("<!--gpumemtrace summary-->", "".join(sections)).replace(
        "<!--gpumemtrace data-->", "".join(data)
    )
    with open(output, "w", encoding="utf-8", newline="") as file:
        file.write(text)


if __name__ == "__main__":
    fill(*sys.argv[1:])
