"use strict";
loaded().then((data) => {
  const { columns, values } = data.table;
  const NAME = columns.findIndex(([key]) => key === "id");
  const names = values[NAME];
  const table = document.getElementById("buffers"), body = table.tBodies[0], filter = document.getElementById("filter");
  const order = names.map((_, i) => i);
  let marked = -1;
  const line = (i) => {
    const row = document.createElement("tr");
    row.dataset.i = i;
    row.classList.toggle("marked", i === marked);
    row.append(...columns.map(([, numeric], k) => {
      const cell = document.createElement(k === NAME ? "th" : "td");
      if (k === NAME) cell.scope = "row";
      else if (!numeric) cell.className = "word";
      cell.textContent = numeric ? values[k][i].toLocaleString("en") : values[k][i];
      return cell;
    }));
    return row;
  };
  const { list, reach } = longTable(body, "buffer", names.length, line, () => {
    const wanted = filter.value.trim().toLowerCase();
    return wanted ? order.filter((i) => names[i].toLowerCase().includes(wanted)) : order;
  });
  [...body.rows].forEach((row, i) => { row.dataset.i = i; });
  // A frame around each box of a buffer.
  const map = document.getElementById("map");
  const outlines = (index) => map.data.flatMap(({ customdata, base, x, y, width }) => (customdata ?? []).flatMap((row, i) => (row === index ? [{
    type: "rect", x0: base[i], x1: base[i] + x[i], y0: y[i] - width[i] / 2, y1: y[i] + width[i] / 2,
    line: { color: preferred().accent, width: 4 },
  }] : [])));
  const mark = (index, scroll) => {
    marked = index === marked ? -1 : index;
    if (scroll && marked >= 0) reach(marked);
    for (const row of body.rows) row.classList.toggle("marked", Number(row.dataset.i) === marked);
    if (map?.layout) Plotly.relayout(map, { shapes: outlines(marked) });
    const row = body.querySelector(".marked"), pane = document.getElementById("scroller");
    if (scroll && row) pane.scrollTop += row.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 2;
  };
  sortable(table, (column) => columns[column][1], (column, sign, compare) => {
    order.sort((a, b) => sign * compare(values[column][a], values[column][b]) || a - b);
    list();
  });
  filter.addEventListener("input", list);
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row && String(window.getSelection()) === "") mark(Number(row.dataset.i), false);
  });
  return drawCharts(data.charts).then(() => map?.on?.("plotly_click", ({ points }) => {
    const { customdata } = points.find((point) => point.customdata !== undefined) ?? {};
    if (customdata !== undefined) mark(customdata, true);
  }));
}).then(() => { document.documentElement.dataset.ready = "1"; });
