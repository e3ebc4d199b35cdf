# SPDX-License-Identifier: MIT
"""Shows the numbers of a cell: as text for terminals, and as HTML for notebooks. Computes nothing."""

from __future__ import annotations

from html import escape

from gpumemtrace._notebook_numbers import Account, Numbers

_LAYERS = {
    "torch": "blocks of PyTorch",
    "cuda": "memory from the driver",
    "custom": "blocks of the program's pools",
    "imported": "memory of other processes",
}
_COLUMNS = ("line", "allocated", "blocks", "left", "blocks", "at the peak", "code")
_CELL = "padding:2px 10px;text-align:{};white-space:nowrap"


def size(count: int) -> str:
    """Returns a size as the reports of gpumemtrace show it: three digits, IEC units."""
    if count < 1024:
        return f"{count} B"
    value, unit = float(count), ""
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        # 1023.5 would print as 1024 KiB.
        if value < 1023.5:
            break
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {unit}"


def _place(account: Account) -> str:
    where = "host memory" if account.device is None else f"GPU {account.device}"
    return f"{where}, {_LAYERS.get(account.layer, account.layer)}"


def _rows(account: Account) -> list[tuple[str, int, int, int, int, int, str]]:
    """Returns the rows of the table: each line, the memory older than the cell, and the sum."""
    rows = [
        (
            "" if line.line is None else str(line.line),
            line.allocated_bytes,
            line.allocated_blocks,
            line.left_bytes,
            line.left_blocks,
            line.peak_bytes,
            line.text,
        )
        for line in account.lines
    ]
    older = account.peak_bytes - account.total("peak_bytes")
    if older:
        rows.append(("", 0, 0, 0, 0, older, "older than this cell"))
    rows.append(
        (
            "sum",
            account.allocated_bytes,
            account.allocated_blocks,
            account.total("left_bytes"),
            account.total("left_blocks"),
            account.peak_bytes,
            "",
        )
    )
    return rows


def _summary(account: Account) -> str:
    return (
        f"{_place(account)}: allocated {size(account.allocated_bytes)}, left {size(account.total('left_bytes'))}, "
        f"peak {size(account.peak_bytes)}; live {size(account.begin_bytes)} before, {size(account.end_bytes)} after"
    )


def as_text(numbers: Numbers) -> str:
    parts = []
    for account in numbers.accounts:
        parts.append(f"{numbers.cell.phase} on {_summary(account)}")
        parts.append(f"{'line':>5}{'allocated':>12}{'blocks':>8}{'left':>12}{'blocks':>8}{'at the peak':>13}  code")
        for line, allocated, blocks, left, left_blocks, peak, text in _rows(account):
            parts.append(
                f"{line:>5}{size(allocated):>12}{blocks:>8}{size(left):>12}{left_blocks:>8}{size(peak):>13}  {text}".rstrip()
            )
    if not numbers.accounts:
        parts.append(f"{numbers.cell.phase} allocated and freed no GPU memory")
    parts += [f"note: {remark}" for remark in numbers.remarks]
    return "\n".join(parts)


def _td(text: str, align: str = "right", exact: int | None = None, tag: str = "td") -> str:
    title = "" if exact is None else f' title="{exact:,} B"'
    return f'<{tag} style="{_CELL.format(align)}"{title}>{text}</{tag}>'


def _table(account: Account) -> str:
    names = [_td(name, "left" if name == "code" else "right", tag="th") for name in _COLUMNS]
    html = [f"<table><thead><tr>{''.join(names)}</tr></thead><tbody>"]
    for line, allocated, blocks, left, left_blocks, peak, text in _rows(account):
        code = escape(text)
        if line:
            code = f"<code>{code}</code>" if line != "sum" else ""
        cells = [
            _td(line),
            _td(size(allocated), exact=allocated),
            _td(str(blocks)),
            _td(size(left), exact=left),
            _td(str(left_blocks)),
            _td(size(peak), exact=peak),
            _td(code, "left"),
        ]
        html.append(f"<tr>{''.join(cells)}</tr>")
    html.append("</tbody></table>")
    return "".join(html)


def as_html(numbers: Numbers, is_page_open: bool = False) -> str:
    phase = escape(numbers.cell.phase)
    html = ['<div class="gpumemtrace">']
    for account in numbers.accounts:
        layer = escape(account.layer, quote=True)
        device = "host" if account.device is None else account.device
        html.append(f'<div data-layer="{layer}" data-device="{device}">')
        html.append(f"<p><b>{phase}</b> on {escape(_summary(account))}</p>{_table(account)}</div>")
    if not numbers.accounts:
        html.append(f"<p><b>{phase}</b> allocated and freed no GPU memory</p>")
    html += [f"<p>Note: {escape(remark)}</p>" for remark in numbers.remarks]
    if numbers.page is not None:
        # The page is a document of its own. Its scripts may not reach into the notebook.
        html.append(
            f"<details{' open' if is_page_open else ''}><summary>The whole recording up to now</summary>"
            '<iframe sandbox="allow-scripts" style="width:100%;height:720px;border:0" '
            f'title="report of gpumemtrace" srcdoc="{escape(numbers.page, quote=True)}"></iframe></details>'
        )
    html.append("</div>")
    return "".join(html)
