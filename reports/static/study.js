"use strict";
loaded().then((data) => {
  const { columns, cells, values } = data.table;
  const byId = (id) => document.getElementById(id);
  const search = byId("filter");
  const keys = new Map(data.points.map((point, row) => [point.key, row]));
  const STATUS = columns.findIndex(([key]) => key === "status");
  const LINK = 0;
  const texts = cells.map((row) => row.join(" ").toLowerCase());
  const order = cells.map((_, row) => row);
  const off = new Set();

  const element = (name, text = "", classes = "") => {
    const made = document.createElement(name);
    made.textContent = text;
    if (classes) made.className = classes;
    return made;
  };
  const link = (row, text, id) => {
    const made = element("a", text);
    made.href = `#point-${data.points[row].key}`;
    if (id) made.id = `row-${data.points[row].key}`;
    return made;
  };
  const plan = (row) => {
    const { page } = data.points[row];
    return page ? [" ", Object.assign(element("a", "plan"), { href: page, title: "Page of this plan" })] : [];
  };
  const line = (row, id) => {
    const made = element("tr");
    cells[row].forEach((text, column) => {
      const cell = element(column === LINK ? "th" : "td", column === LINK || column === STATUS ? "" : text, columns[column][2] ? "num" : "");
      if (column === LINK) {
        cell.scope = "row";
        cell.append(link(row, text, id), ...plan(row));
      }
      if (column === STATUS) cell.append(element("span", text, `status ${text.replaceAll(" ", "-")}`));
      made.append(cell);
    });
    return made;
  };

  const { list } = longTable(byId("rows").tBodies[0], "point", cells.length, (row) => line(row, true), () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return order.filter((row) => !off.has(cells[row][STATUS]) && wanted.every((word) => texts[row].includes(word)));
  });

  sortable(byId("rows"), (column) => columns[column][2], (column, sign, compare) => {
    const value = columns[column][2] ? (row) => values[column][row] : (row) => cells[row][column] || null;
    order.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      // Points without the figure stay last in both directions.
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return sign * compare(x, y) || a - b;
    });
    list();
  });
  search.addEventListener("input", list);
  for (const button of document.querySelectorAll("[data-status]")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      if (on) off.delete(button.dataset.status); else off.add(button.dataset.status);
      list();
    });
  }

  // The view of one point: #point-KEY.
  const overview = byId("overview"), page = byId("point");
  const TITLE = document.title;
  let scrolled = 0;
  const rowsTable = (rows, current) => {
    const made = element("table"), head = element("tr"), lines = element("tbody");
    head.append(...columns.map(([, label, numeric]) => Object.assign(element("th", label, numeric ? "num" : ""), { scope: "col" })));
    lines.append(...rows.map((row) => {
      const each = line(row, false);
      if (row === current) each.setAttribute("aria-current", "true");
      return each;
    }));
    made.append(element("thead"), lines);
    made.tHead.append(head);
    return made;
  };
  const facts = (point) => {
    for (const [label, text] of point.facts) {
      const each = element("div");
      each.append(element("dt", label), element("dd", text));
      byId("point-facts").append(each);
    }
  };
  const steps = (point) => {
    const rows = (point.steps ?? []).map((step) => {
      const made = element("tr");
      made.append(...step.map((text) => element("td", text, "num")));
      return made;
    });
    byId("point-steps").replaceChildren(...rows);
    byId("point-steps-part").hidden = rows.length === 0;
  };
  const fill = (row) => {
    const point = data.points[row];
    const others = data.points.flatMap((each, k) => (each.case === point.case ? [k] : []));
    byId("point-title").textContent = cells[row][LINK];
    byId("point-planner").textContent = point.facts.filter(([label]) => ["packer", "merge", "streamer"].includes(label)).map(([, text]) => text).join(" · ");
    byId("point-status").textContent = cells[row][STATUS];
    byId("point-status").className = `status ${cells[row][STATUS].replaceAll(" ", "-")}`;
    byId("point-command").textContent = point.command;
    byId("point-plan").replaceChildren(...(point.page ? [Object.assign(element("a", "Page of this plan"), { href: point.page })] : []));
    byId("point-error").textContent = point.error ?? "";
    byId("point-error").hidden = !point.error;
    byId("point-facts").replaceChildren();
    facts(point);
    steps(point);
    byId("point-others").replaceChildren(rowsTable(others, row));
    byId("point-others-part").hidden = others.length < 2;
    byId("point-back").href = `#row-${point.key}`;
    for (const [id, next] of [["point-before", row - 1], ["point-after", row + 1]]) {
      byId(id).hidden = !data.points[next];
      if (data.points[next]) byId(id).href = `#point-${data.points[next].key}`;
    }
    document.title = `${cells[row][LINK]}, ${TITLE}`;
  };
  const show = () => {
    const row = keys.get(location.hash.replace(/^#point-/, ""));
    const single = location.hash.startsWith("#point-") && row !== undefined;
    if (single && page.hidden) scrolled = window.scrollY;
    if (single) fill(row);
    const was = !page.hidden;
    page.hidden = !single;
    overview.hidden = single;
    if (single) {
      window.scrollTo(0, 0);
      byId("point-title").focus({ preventScroll: true });
    } else if (was) {
      document.title = TITLE;
      window.scrollTo(0, scrolled);
      byId(location.hash.slice(1))?.focus({ preventScroll: scrolled > 0 });
    }
  };
  window.addEventListener("hashchange", show);
  page.addEventListener("keydown", (event) => {
    if (event.key === "Escape") location.hash = byId("point-back").hash;
  });
  list();
  show();
  return drawCharts(data.charts).then(() => {
    for (const chart of document.querySelectorAll("#overview .js-plotly-plot")) {
      chart.on("plotly_click", ({ points: [{ customdata }] }) => {
        if (customdata !== undefined) location.hash = `point-${data.points[customdata].key}`;
      });
    }
  });
}).then(() => { document.documentElement.dataset.ready = "1"; });
