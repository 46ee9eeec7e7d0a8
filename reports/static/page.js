"use strict";
loaded().then((data) => {
  const charts = Object.keys(window.Plotly ? data.charts : {}).map((id) => document.getElementById(id));
  const linked = charts.filter((chart) => data.linked.includes(chart.id));
  const placed = (layout, theme, id) => {
    const found = laidOut(layout, theme);
    return data.linked.includes(id) ? { ...found, xaxis: { ...found.xaxis, minallowed: 0, maxallowed: data.cycles } } : found;
  };
  const draw = (theme) => Promise.all(charts.map((chart) => {
    const { data: traces, layout } = data.charts[chart.id];
    const shown = chart.data ? chart.data.map((t) => t.visible) : [];
    const kept = chart.layout && linked.includes(chart) ? { x: [...chart.layout.xaxis.range], y: [...chart.layout.yaxis.range] } : null;
    const next = placed(layout, theme, chart.id);
    if (kept) {
      next.xaxis = { ...next.xaxis, range: kept.x };
      next.yaxis = { ...next.yaxis, range: kept.y };
    }
    return Plotly.react(chart, traces.map((t, i) => ({ ...themed(t, theme), visible: shown[i] ?? true })), next, CONFIG);
  }));
  // Lines between bars, unless thousands share the width, which they would hide. The style sheet draws them: to restyle
  // the figure would draw all bars again.
  const SEPARATED = 500;
  const separate = (chart) => {
    const [start, stop] = chart.layout.xaxis.range;
    const all = chart.data.reduce((sum, { type, base }) => sum + (type === "bar" ? base.length : 0), 0);
    chart.classList.toggle("apart", all * (stop - start) / data.cycles <= SEPARATED);
  };
  // The next task after the browser has painted: what a reader did is answered before charts are drawn.
  const painted = () => new Promise((next) => requestAnimationFrame(() => setTimeout(next)));

  // All charts over time show the same cycles.
  let following = false;
  const follow = (source) => async () => {
    if (following) return;
    following = true;
    const range = [...source.layout.xaxis.range];
    const others = linked.filter((c) => c !== source && String(c.layout.xaxis.range) !== String(range));
    linked.forEach(separate);
    for (const chart of others) {
      await painted();
      await Plotly.relayout(chart, { "xaxis.range": range });
      separate(chart);
    }
    const whole = range[0] <= 0 && range[1] >= data.cycles;
    for (const button of document.querySelectorAll("[data-reset]")) button.hidden = whole;
    following = false;
  };
  // Changes charts over time one after another, so that none keeps the page waiting for all.
  let changes = 0;
  const change = async (update) => {
    const mine = ++changes;
    for (const chart of linked) {
      await painted();
      if (mine !== changes) return; // there is a newer change
      following = true;
      await Plotly.relayout(chart, update(chart));
    }
    following = false;
    if (linked.length) await follow(linked[0])();
  };
  const reset = () => change(({ id }) => ({
    "xaxis.range": [0, data.cycles], "yaxis.range": data.charts[id].layout.yaxis.range ?? [-0.5, 1.5],
  }));

  const table = document.getElementById("ops");
  const body = table.tBodies[0];
  const value = (row, column, numeric) => {
    const cell = row.cells[column];
    return numeric ? Number(cell.textContent.replaceAll(",", "")) : cell.textContent;
  };
  // Thousands of rows take long to lay out: those after the first are added when a reader scrolls or filters.
  const FIRST = 100, inWords = new Intl.NumberFormat("en");
  let missing = data.rows;
  const made = (values) => {
    const row = document.createElement("tr");
    if (data.idle.includes(values[0])) row.className = "idle";
    values.forEach((value, i) => {
      const cell = document.createElement(i === 1 ? "th" : "td");
      if (i === 1) cell.scope = "row";
      if (data.numeric[i]) cell.className = value ? "num" : "num zero";
      if (i === 1) value.split(".").forEach((piece, k) => cell.append(...(k ? [".", document.createElement("wbr"), piece] : [piece])));
      else cell.textContent = data.numeric[i] ? inWords.format(value) : value;
      row.append(cell);
    });
    return row;
  };
  const element = (row) => (Array.isArray(row) ? made(row) : row);
  const complete = (number = missing.length) => body.append(...missing.splice(0, number).map(element));
  sortable(table, (column) => data.numeric[column], (column, sign, compare) => {
    const of = (row, at) => (Array.isArray(row) ? row[at] : value(row, at, data.numeric[at]));
    const rows = [...body.rows, ...missing].map((row) => [of(row, column), of(row, 0), row]);
    rows.sort((a, b) => sign * compare(a[0], b[0]) || a[1] - b[1]);
    const at = missing.length ? FIRST : rows.length;
    body.replaceChildren(...rows.slice(0, at).map((r) => element(r[2])));
    missing = rows.slice(at).map((r) => r[2]);
  });
  const filter = (text) => {
    complete();
    const wanted = text.trim().toLowerCase();
    let shown = 0;
    for (const row of body.rows) {
      const hit = `${row.cells[1].textContent} ${row.cells[2].textContent}`.toLowerCase().includes(wanted);
      row.hidden = !hit;
      shown += hit ? 1 : 0;
    }
    document.getElementById("shown").textContent = shownOf(shown, body.rows.length, "op");
  };

  document.getElementById("filter").addEventListener("input", (event) => filter(event.target.value));
  for (const button of document.querySelectorAll("[data-reset]")) button.addEventListener("click", reset);
  // An op leads from each view to the others; the bar at the foot of the page says which one.
  const bar = document.getElementById("chosen");
  let chosen = -1;
  const marks = (chart, op) => (data.opsOf[chart.id] ?? []).flatMap((points, t) => points.flatMap((numbers, p) => {
    if (!numbers.includes(op)) return [];
    const { base, x, y, width } = chart.data[t];
    const middle = typeof y[p] === "string" ? chart.layout.yaxis.categoryarray.indexOf(y[p]) : y[p];
    const half = (Array.isArray(width) ? width[p] : width) / 2;
    const line = { color: preferred().ink, width: 2 };
    return [{ type: "rect", x0: base[p], x1: base[p] + x[p], y0: middle - half, y1: middle + half, line }];
  }));
  const MOST_MARKS = 200;
  const show = (range) => change((chart) => ({ ...range, shapes: marks(chart, chosen).slice(0, MOST_MARKS) }));
  const choose = (op, range = {}) => {
    chosen = op;
    bar.hidden = op < 0;
    network.mark(op);
    document.getElementById("chosen-text").textContent = op < 0 ? "" : network.told(op);
    return show(range);
  };
  const arrive = (element) => {
    element.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
  };
  const GO = {
    network: () => network.reach(chosen),
    timeline: () => arrive(document.getElementById("timeline")),
    memory: () => arrive(linked.find((chart) => chart.id !== "timeline" && marks(chart, chosen).length) ?? linked.at(-1) ?? bar),
    table: () => {
      document.getElementById("filter").value = "";
      filter("");
      const found = [...body.rows].find((row) => value(row, 0, true) === chosen + 1);
      arrive(Object.assign(found, { tabIndex: -1 }));
    },
    close: () => choose(-1),
  };
  const openOp = (op) => {
    const [start, stop] = data.network.ops[op].slice(4);
    const around = (stop - start) / 4;
    choose(op, stop ? { "xaxis.range": [Math.max(0, start - around), Math.min(data.cycles, stop + around)] } : {});
    GO[stop ? "timeline" : "table"]();
  };
  const network = drawNetwork(data.network, openOp);
  for (const button of bar.querySelectorAll("button")) button.addEventListener("click", GO[button.value]);
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row) choose(value(row, 0, true) - 1);
  });
  document.getElementById("filter").addEventListener("keydown", (event) => {
    const row = [...body.rows].find((each) => !each.hidden);
    if (event.key === "Enter" && row) choose(value(row, 0, true) - 1);
  });
  const clicked = (chart) => ({ points: [{ curveNumber, pointNumber }] }) => {
    const ops = data.opsOf[chart.id]?.[curveNumber]?.[pointNumber];
    if (ops?.length) choose(ops[0]);
  };

  for (const screen of [DARK, SMALL]) screen.addEventListener("change", () => draw(preferred()).then(() => show({})));
  table.addEventListener("complete", () => complete());
  table.parentElement.addEventListener("scroll", (event) => {
    const box = event.currentTarget;
    if (box.scrollTop + 2 * box.clientHeight > box.scrollHeight) complete(2 * FIRST);
  });
  window.addEventListener("beforeprint", () => {
    complete();
    for (const folded of document.querySelectorAll("details")) folded.open = true;
    draw(THEMES.light);
    charts.forEach((c) => Plotly.relayout(c, { width: 690 }));
  });
  window.addEventListener("afterprint", () => draw(preferred()));

  draw(preferred()).then(() => {
    linked.forEach(separate);
    for (const chart of linked) {
      chart.on("plotly_relayout", follow(chart));
      chart.on("plotly_click", clicked(chart));
      chart.on("plotly_doubleclick", () => { reset(); return false; });
    }
    for (const chart of charts.filter(({ id }) => data.needs[id])) linkTimeline(chart, data.needs[chart.id]);
    document.documentElement.dataset.ready = "1";
  });
});
