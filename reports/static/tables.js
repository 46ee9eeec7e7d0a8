"use strict";
// A table whose heads are buttons: numbers sort from the largest first, texts from A, and the other way at the next
// click. numeric(column) says which; sorted(column, sign, compare) puts the rows in order, with sign -1 for the largest first.
const sortable = (table, numeric, sorted) => {
  const collator = new Intl.Collator(undefined, { numeric: true });
  const sort = (head) => {
    const numbers = numeric(head.cellIndex);
    const [one, two] = numbers ? ["descending", "ascending"] : ["ascending", "descending"];
    const direction = head.getAttribute("aria-sort") === one ? two : one;
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    sorted(head.cellIndex, direction === "ascending" ? 1 : -1, numbers ? (a, b) => a - b : collator.compare);
  };
  for (const button of table.tHead.querySelectorAll("button")) {
    button.addEventListener("click", () => sort(button.parentElement));
  }
};
// Buttons below each table save what it shows as CSV or JSON: rows that a filter hides are left out, and it is said so.
// A table that has made only its first rows makes all at the event "complete".
(() => {
  const text = (cell) => cell.textContent.trim().replace(/\s+/g, " ");
  const number = (cell) => (/^-?\d[\d,]*(\.\d+)?$/.test(text(cell)) ? Number(text(cell).replaceAll(",", "")) : text(cell));
  // A spreadsheet would run a text that begins like a formula.
  const safe = (value) => (/^[=+\-@\t\r]/.test(value) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(value) ? `'${value}` : `${value}`);
  const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const headsOf = (table) => [...table.tHead.rows].at(-1).cells;
  const named = (table) => [...headsOf(table)].map((head, i, all) => {
    const name = text(head) || `column ${i + 1}`;
    return [...all].slice(0, i).some((other) => text(other) === name) ? `${name} ${i + 1}` : name;
  });
  const csv = (heads, rows) => `${[heads, ...rows].map((row) => row.map((value) => quoted(safe(value))).join(",")).join("\r\n")}\r\n`;
  const json = (heads, rows) => `${JSON.stringify(rows.map((row) => Object.fromEntries(row.map((value, i) => [heads[i], value]))), null, 1)}\n`;
  const KINDS = { CSV: [csv, "text/csv"], JSON: [json, "application/json"] };
  const titleOf = (table) => {
    const caption = table.caption ?? table.closest("section")?.querySelector("h2") ?? document.querySelector("h1");
    return text(caption);
  };
  const save = (table, kind, said) => {
    table.dispatchEvent(new Event("complete"));
    const all = [...table.tBodies].flatMap((body) => [...body.rows]), shown = all.filter((row) => !row.hidden);
    const [make, type] = KINDS[kind];
    const content = make(named(table), shown.map((row) => [...row.cells].map(number)));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = `${titleOf(table).replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").toLowerCase()}.${kind.toLowerCase()}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    const rows = `${shown.length.toLocaleString("en")} row${shown.length === 1 ? "" : "s"}`;
    said.textContent = shown.length < all.length ? `${rows} saved, without ${(all.length - shown.length).toLocaleString("en")} that the filter hides` : `${rows} saved`;
  };
  // The heads of a table of many rows sort it, unless the page sorts it itself.
  const MANY = 8, UNITS = { KiB: 2 ** 10, MiB: 2 ** 20 };
  const amount = (said) => (Number.parseFloat(said.replaceAll(",", "").replace("\u2212", "-")) || 0) * (UNITS[said.split(" ")[1]] ?? 1);
  const sortRows = (table) => {
    const body = table.tBodies[0], rows = [...body.rows], heads = [...headsOf(table)];
    for (const head of heads) {
      const button = Object.assign(document.createElement("button"), { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
    }
    table.classList.add("sortable");
    const numeric = (column) => heads[column].classList.contains("num");
    sortable(table, numeric, (column, sign, compare) => {
      const value = ({ cells }) => (numeric(column) ? amount(text(cells[column])) : text(cells[column]));
      body.append(...rows.toSorted((a, b) => sign * compare(value(a), value(b))));
    });
  };
  for (const table of document.querySelectorAll("main table")) {
    if (!table.tHead || table.closest(".diff, [hidden]")) continue;
    if (table.classList.contains("planners") && table.tBodies[0].rows.length > MANY) sortRows(table);
    const line = document.createElement("p"), said = document.createElement("output");
    line.className = "save";
    for (const kind of Object.keys(KINDS)) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: kind });
      button.setAttribute("aria-label", `Save as ${kind}: ${titleOf(table)}`);
      button.addEventListener("click", () => save(table, kind, said));
      line.append(button);
    }
    line.append(said);
    (table.closest(".scroll") ?? table).after(line);
  }
  if (!document.getElementById("data")) document.documentElement.dataset.ready = "1";
})();
