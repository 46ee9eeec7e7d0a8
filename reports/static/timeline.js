"use strict";
// Lines between the bars of a timeline that needed each other, on hover and by keyboard.
// needs[trace][point] lists the trace and point of each bar that one needed, one after another.
const linkTimeline = (chart, needs) => {
  const rows = chart.layout.yaxis.categoryarray;
  const bar = (t, p) => {
    const trace = chart.data[t];
    return { t, p, start: trace.base[p], stop: trace.base[p] + trace.x[p], row: rows.indexOf(trace.y[p]) };
  };
  const pairs = (flat) => flat.reduce((found, t, i) => (i % 2 ? found : [...found, [t, flat[i + 1]]]), []);
  const feeds = new Map();
  needs.forEach((points, t) => points.forEach((flat, p) => pairs(flat).forEach(([a, b]) => {
    const key = `${a},${b}`;
    if (!feeds.has(key)) feeds.set(key, []);
    feeds.get(key).push([t, p]);
  })));
  // An overlay of its own: a change of the figure would end a drag, and draw thousands of bars again.
  const overlay = shape("svg", { class: "links", "aria-hidden": "true" });
  chart.append(overlay);
  const draw = (kind, place, dashed = false) => {
    overlay.append(shape(kind, { ...place, ...(dashed ? { "stroke-dasharray": "2 3" } : {}) }));
  };
  const MOST = 24;
  const HALF = 0.39;
  let drawn = "";
  const clear = () => {
    drawn = "";
    overlay.replaceChildren();
  };
  const show = (t, p) => {
    const key = `${t},${p}`;
    if (key === drawn) return;
    clear();
    drawn = key;
    const { xaxis, yaxis } = chart._fullLayout;
    const [left, right] = [xaxis._offset, xaxis._offset + xaxis._length];
    const x = (cycle) => Math.min(right, Math.max(left, xaxis._offset + xaxis.l2p(cycle)));
    const y = (row) => yaxis._offset + yaxis.l2p(row);
    const box = (b) => draw("rect", {
      x: x(b.start), width: Math.max(1, x(b.stop) - x(b.start)), y: y(b.row + HALF), height: y(b.row - HALF) - y(b.row + HALF),
    });
    const line = (from, to, dashed) => draw("line", { x1: x(from.stop), y1: y(from.row), x2: x(to.start), y2: y(to.row) }, dashed);
    const self = bar(t, p);
    const before = pairs(needs[t]?.[p] ?? []).map(([a, b]) => bar(a, b));
    const after = (feeds.get(key) ?? []).slice(0, MOST).map(([a, b]) => bar(a, b));
    if (before.length + after.length === 0) return;
    [self, ...before, ...after].forEach(box);
    before.forEach((b) => line(b, self, false));
    after.forEach((b) => line(self, b, true));
  };
  chart.on("plotly_hover", (event) => {
    const point = event.points[0];
    show(point.curveNumber, point.pointNumber);
  });
  chart.on("plotly_unhover", clear);
  chart.on("plotly_relayout", clear);

  const ordered = rows.map((_, row) => chart.data.flatMap((trace, t) => (trace.base ?? [])
    .map((start, p) => ({ start, t, p })).filter(({ p }) => rows.indexOf(trace.y[p]) === row))
    .sort((a, b) => a.start - b.start));
  const said = document.getElementById(`${chart.id}-said`);
  let row = rows.length - 1;
  let at = -1;
  const visible = (b) => {
    const [low, high] = chart.layout.xaxis.range;
    if (b.stop > low && b.start < high) return Promise.resolve();
    const middle = (b.start + b.stop) / 2;
    const start = Math.max(0, middle - (high - low) / 2);
    return Plotly.relayout(chart, { "xaxis.range": [start, start + high - low] });
  };
  const speak = (t, p) => {
    const plain = document.createElement("div");
    plain.innerHTML = chart.data[t].hovertext[p].replaceAll("<br>", ", ");
    said.textContent = plain.textContent;
  };
  const step = async (key) => {
    const list = ordered[row];
    if (key === "ArrowUp" || key === "ArrowDown") {
      const next = row + (key === "ArrowUp" ? 1 : -1);
      if (!ordered[next]?.length) return;
      const now = list[at]?.start ?? 0;
      row = next;
      const found = ordered[row].findIndex((b) => bar(b.t, b.p).stop > now);
      at = found < 0 ? ordered[row].length - 1 : found;
    } else {
      at = Math.max(0, Math.min(list.length - 1, at + (key === "ArrowRight" ? 1 : -1)));
    }
    const { t, p } = ordered[row][at];
    await visible(bar(t, p));
    show(t, p);
    Plotly.Fx.hover(chart, [{ curveNumber: t, pointNumber: p }]);
    speak(t, p);
  };
  const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
  chart.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      clear();
      Plotly.Fx.unhover(chart);
    } else if (event.key === "Enter" && at >= 0) {
      const { t, p } = ordered[row][at];
      chart.emit("plotly_click", { points: [{ curveNumber: t, pointNumber: p }] });
    } else if (KEYS.includes(event.key)) {
      event.preventDefault();
      step(event.key);
    }
  });
  chart.addEventListener("blur", clear);
};
