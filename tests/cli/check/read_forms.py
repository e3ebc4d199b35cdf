# SPDX-License-Identifier: MIT
"""Reads JUnit XML and SARIF with other projects' parsers, in the environment that has them (scripts/setup).

usage: read_forms.py junit|sarif FILE    prints what the parser found, as JSON
"""

import json
import sys


def read_junit(path):
    import junitparser

    suites = junitparser.JUnitXml.fromfile(path)
    return [
        {
            "name": suite.name,
            "tests": suite.tests,
            "failures": suite.failures,
            "skipped": suite.skipped,
            "cases": [
                {
                    "name": case.name,
                    "classname": case.classname,
                    "results": [
                        [type(result).__name__, result.type, result.message, result.text] for result in case.result
                    ],
                }
                for case in suite
            ],
        }
        for suite in suites
    ]


def read_sarif(path):
    import sarif_pydantic

    with open(path, encoding="utf-8") as file:
        log = sarif_pydantic.Sarif.model_validate_json(file.read(), strict=False)
    return json.loads(log.model_dump_json(by_alias=True, exclude_none=True))


if __name__ == "__main__":
    print(json.dumps({"junit": read_junit, "sarif": read_sarif}[sys.argv[1]](sys.argv[2])))
