"use strict";
loaded().then((data) => {
  const COLUMNS = data.table.columns.map(([key, numeric]) => ({ key, numeric }));
  const column = (key) => data.table.values[COLUMNS.findIndex((c) => c.key === key)];
  const [NAMES, BYTES, OFFSETS] = ["name", "bytes", "offset"].map(column);
  const ALIASES = column("group") !== undefined;
  // viridis (van der Walt and Smith, 2015), without its darkest and lightest ends: apart for every kind of colour vision.
  const RAMP = [[72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43]];
  const LETTER = 7.4;
  const MOST_LABELS = 600;

  const number = (value) => Math.round(value).toLocaleString("en");
  const size = (bytes) => {
    for (const [unit, factor] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
      if (bytes >= factor) return `${(bytes / factor).toLocaleString("en", { maximumFractionDigits: bytes < 100 * factor ? 2 : 1 })} ${unit}`;
    }
    return `${number(bytes)} B`;
  };

  const first = data.times.length ? data.times[0] : 0;
  const last = data.times.length ? data.times[data.times.length - 1] : 1;
  const most = data.alive.reduce((a, b) => Math.max(a, b), 0);
  const crest = Math.max(data.peak ?? 0, most, data.bound, 1);
  // A capacity far above the plan would leave most of the chart empty.
  const near = data.capacity !== null && data.capacity <= 2.5 * crest;
  const WHOLE = { x0: first, x1: Math.max(last, first + 1), y0: 0, y1: Math.max(crest, near ? data.capacity : 0) * 1.06 };
  let view = { ...WHOLE };
  let colouring = "size";
  let marked = -1;

  const sizes = BYTES.filter((b) => b > 0).map(Math.log2);
  const low = sizes.reduce((a, b) => Math.min(a, b), Infinity);
  const high = sizes.reduce((a, b) => Math.max(a, b), -Infinity);
  const lowest = data.box.reduce((least, i) => Math.min(least, data.pressure[i]), 1);
  const share = (i) => {
    const [value, from, to] = colouring === "size" ? [Math.log2(BYTES[i]), low, high] : [data.pressure[i], lowest, 1];
    return to > from ? (value - from) / (to - from) : 1;
  };
  const colour = (i) => {
    const at = (Math.round(Math.max(0, Math.min(1, share(i))) * 64) / 64) * (RAMP.length - 1);
    const k = Math.min(RAMP.length - 2, Math.floor(at));
    return RAMP[k].map((c, j) => Math.round(c + (RAMP[k + 1][j] - c) * (at - k)));
  };
  const css = (rgb) => `rgb(${rgb.join(",")})`;
  // By relative luminance (WCAG 2.2): dark on what is lighter than 0.2, where both contrasts are equal.
  const linear = (c) => (c <= 10 ? c / 3295 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const inkOn = (rgb) => (luminance(rgb) > 0.2 ? "#14181c" : "#ffffff");

  // Far outside of what is shown all places are alike: a browser cannot draw lines of millions of pixels.
  const bounded = (pixels) => Math.max(-1e4, Math.min(2e4, pixels));

  class Chart {
    constructor(svg, paint) {
      this.svg = svg;
      this.paint = paint;
      this.drag = null;
    }
    // The chart of live bytes keeps its own height: only time is shared.
    get y() { return this.svg.id === "map" ? [view.y0, view.y1] : [WHOLE.y0, WHOLE.y1]; }
    px(time) { return bounded(this.left + ((time - view.x0) / (view.x1 - view.x0)) * (this.right - this.left)); }
    py(bytes) { const [y0, y1] = this.y; return bounded(this.bottom - ((bytes - y0) / (y1 - y0)) * (this.bottom - this.top)); }
    time(px) { return view.x0 + ((px - this.left) / (this.right - this.left)) * (view.x1 - view.x0); }
    bytes(py) { const [y0, y1] = this.y; return y0 + ((this.bottom - py) / (this.bottom - this.top)) * (y1 - y0); }
    draw() {
      const { width, height } = this.svg.getBoundingClientRect();
      [this.left, this.right, this.top, this.bottom] = [window.innerWidth < 720 ? 58 : 76, Math.max(150, width) - 8, 8, height - 26];
      const [wide, high] = [this.right - this.left, this.bottom - this.top];
      this.svg.setAttribute("viewBox", `0 0 ${this.right + 8} ${height}`);
      this.band = shape("rect", { class: "band" });
      const inside = shape("svg", { x: this.left, y: this.top, width: wide, height: high, viewBox: `${this.left} ${this.top} ${wide} ${high}` });
      inside.append(...this.paint(this), this.band);
      this.svg.replaceChildren(...this.axes(), inside);
    }
    axes() {
      const { left, right, top, bottom } = this, [y0, y1] = this.y;
      const found = [shape("text", { x: left - 16, y: bottom + 17, class: "end" }, "time")];
      for (const tick of ticks(y0, y1, (bottom - top) / 46, 2)) {
        const y = Math.round(this.py(tick)) + 0.5;
        found.push(shape("line", { x1: left, x2: right, y1: y, y2: y }), shape("text", { x: left - 7, y: y + 4, class: "end" }, size(tick)));
      }
      for (const tick of ticks(view.x0, view.x1, (right - left) / 110, 10)) {
        const x = Math.round(this.px(tick)) + 0.5, half = (number(tick).length * LETTER) / 2;
        found.push(shape("line", { x1: x, x2: x, y1: bottom, y2: bottom + 4 }));
        if (x - half >= left - 12 && x + half <= right + 8) found.push(shape("text", { x, y: bottom + 17, class: "middle" }, number(tick)));
      }
      return found;
    }
    line(bytes, kind) {
      const y = Math.round(this.py(bytes)) + 0.5;
      return shape("line", { x1: this.left, x2: this.right, y1: y, y2: y, class: kind });
    }
    // On a patch of the background colour, to be readable on boxes of any colour.
    label(middle, text, kind, shift = 0) {
      const x = this.right - 4 - shift, width = text.length * LETTER + 4;
      return [shape("rect", { x: x - width, y: middle - 8, width: width + 4, height: 16, class: "patch" }), shape("text", { x, y: middle + 4, class: `end ${kind}` }, text)];
    }
    // Lines at the same height are one line with both names; labels that would overlap are placed side by side.
    levels() {
      const at = new Map();
      for (const [name, bytes] of [["peak", data.peak], ["bound", data.bound], ["capacity", near ? data.capacity : null]]) {
        if (bytes !== null && bytes !== undefined) at.set(bytes, [...(at.get(bytes) ?? []), name]);
      }
      const lines = [...at].map(([bytes, names]) => this.line(bytes, names[0]));
      let last = -Infinity, shift = 0;
      for (const [bytes, names] of [...at].sort((a, b) => b[0] - a[0])) {
        const y = this.py(bytes), middle = y < this.top + 18 ? y + 11 : y - 11, text = `${names.join(" = ")} ${size(bytes)}`;
        if (Math.abs(middle - last) >= 17) shift = 0;
        lines.push(...this.label(middle, text, names[0], shift));
        shift += text.length * LETTER + 14;
        last = middle;
      }
      return lines;
    }
  }

  function ticks(from, to, about, base) {
    const rough = (to - from) / Math.max(1, about);
    let step;
    if (base === 2) step = 2 ** Math.ceil(Math.log2(Math.max(1, rough)));
    else {
      const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
      step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough) ?? 10 * power;
    }
    const found = [];
    for (let at = Math.ceil(from / step) * step; at <= to && found.length < 40; at += step) found.push(at);
    return found;
  }

  const outlined = [[new Set(data.unplaceable), "unplaceable", 2], [new Set(data.pinned), "pinned", 1.5]];
  const paintMap = (chart) => {
    const { x0, x1, y0, y1 } = view;
    // All boxes of a colour are one path: thousands of elements take a browser tenths of a second. Only colocated buffers
    // (aliases) overlap: they have a path each.
    const paths = new Map(), outlines = [];
    let labels = 0;
    for (let k = 0; k < data.box.length; k += 1) {
      const i = data.box[k], offset = OFFSETS[i], bytes = BYTES[i];
      if (data.stop[k] <= x0 || data.start[k] >= x1 || offset + bytes <= y0 || offset >= y1) continue;
      const [left, right, top, bottom] = [chart.px(data.start[k]), chart.px(data.stop[k]), chart.py(offset + bytes), chart.py(offset)];
      const rgb = colour(i), width = right - left, height = bottom - top;
      const key = ALIASES ? k : css(rgb);
      if (!paths.has(key)) paths.set(key, { fill: css(rgb), boxes: [], names: [] });
      const { boxes, names } = paths.get(key);
      // A pixel of background between boxes that are large enough.
      const dx = width > 4 ? 0.5 : 0, dy = height > 4 ? 0.5 : 0;
      const wide = Math.max(0.6, width - 2 * dx);
      boxes.push(`M${left + dx},${top + dy}h${wide}v${Math.max(0.6, height - 2 * dy)}h${-wide}z`);
      for (const [which, kind, line] of i === marked ? [...outlined, [new Set([i]), "marked", 3]] : outlined) {
        if (which.has(i)) outlines.push(shape("rect", { x: left + line / 2, y: top + line / 2, width: Math.max(1, width - line), height: Math.max(1, height - line), class: `outline ${kind}` }));
      }
      if (height >= 13 && width >= 16 && labels < MOST_LABELS) {
        const from = Math.max(left, chart.left), to = Math.min(right, chart.right);
        const upper = Math.max(top, chart.top), lower = Math.min(bottom, chart.bottom);
        if (NAMES[i].length * LETTER + 8 <= to - from && lower - upper >= 13) {
          labels += 1;
          names.push(shape("text", { x: (from + to) / 2, y: (upper + lower) / 2 + 4.5, class: "middle", style: `fill: ${inkOn(rgb)}` }, NAMES[i]));
        }
      }
    }
    const memories = data.memories.flatMap(([name, start, stop]) => [
      chart.line(start, "memory"), chart.line(stop, "memory"), ...chart.label(chart.py(stop) + 11, name, "memory"),
    ]);
    const drawn = [...paths.values()].flatMap(({ fill, boxes, names }) => [shape("path", { d: boxes.join(""), fill, class: ALIASES ? "alias" : "" }), ...names]);
    return [...drawn, ...outlines, ...memories, ...chart.levels()];
  };
  const paintAlive = (chart) => {
    const steps = data.times.map((time, k) => `${k ? "H" : "M"}${chart.px(time)}${k ? "" : `,${chart.py(0)}`}V${chart.py(data.alive[k])}`);
    return [shape("path", { d: steps.join(""), class: "curve" }), ...chart.levels()];
  };

  const charts = [["map", paintMap], ["alive", paintAlive]]
    .map(([id, paint]) => [document.getElementById(id), paint])
    .filter(([svg]) => svg)
    .map(([svg, paint]) => new Chart(svg, paint));
  const draw = () => {
    charts.forEach((chart) => chart.draw());
    const whole = view.x0 <= WHOLE.x0 && view.x1 >= WHOLE.x1 && view.y0 <= WHOLE.y0 && view.y1 >= WHOLE.y1;
    for (const button of document.querySelectorAll("[data-reset]")) button.hidden = whole;
  };
  let waiting = false;
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  const clamp = (from, to, least, most, narrowest) => {
    const span = Math.min(most - least, Math.max(narrowest, to - from));
    const start = Math.min(Math.max(least, from), most - span);
    return [start, start + span];
  };
  const show = (x0, x1, y0, y1) => {
    [x0, x1] = clamp(x0, x1, WHOLE.x0, WHOLE.x1, Math.min(1, WHOLE.x1 - WHOLE.x0));
    [y0, y1] = clamp(y0, y1, WHOLE.y0, WHOLE.y1, Math.min(16, WHOLE.y1));
    view = { x0, x1, y0, y1 };
    redraw();
  };
  const reset = () => { view = { ...WHOLE }; redraw(); };
  const zoom = (factor) => {
    const half = (from, to) => [(from + to) / 2 - ((to - from) * factor) / 2, (from + to) / 2 + ((to - from) * factor) / 2];
    show(...half(view.x0, view.x1), ...half(view.y0, view.y1));
  };
  const move = (x, y) => {
    const dx = (view.x1 - view.x0) * x, dy = (view.y1 - view.y0) * y;
    show(view.x0 + dx, view.x1 + dx, view.y0 + dy, view.y1 + dy);
  };
  const KEYS = {
    "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: reset,
    ArrowLeft: () => move(-0.15, 0), ArrowRight: () => move(0.15, 0), ArrowUp: () => move(0, 0.15), ArrowDown: () => move(0, -0.15),
  };

  const tip = document.getElementById("tip");
  const boxAt = (chart, x, y) => {
    const time = chart.time(x), bytes = chart.bytes(y);
    const hit = (i, k) => data.start[k] <= time && time < data.stop[k] && OFFSETS[i] <= bytes && bytes < OFFSETS[i] + BYTES[i];
    return data.box.findLastIndex(hit);
  };
  const aliveAt = (time) => {
    let from = 0, to = data.times.length;
    while (from < to) { const mid = (from + to) >> 1; if (data.times[mid] <= time) from = mid + 1; else to = mid; }
    return from ? data.alive[from - 1] : 0;
  };
  const words = (chart, x, y) => {
    if (x < chart.left || x > chart.right || y < chart.top || y > chart.bottom) return "";
    if (chart.svg.id === "alive") {
      const time = Math.floor(chart.time(x));
      return time < first || time >= last ? "" : `time ${number(time)}\n${number(aliveAt(time))} B alive`;
    }
    const k = boxAt(chart, x, y);
    if (k < 0) return "";
    const i = data.box[k], end = OFFSETS[i] + BYTES[i];
    const pin = data.pinned.includes(i) ? "\npinned" : "";
    return `${NAMES[i]}\n${number(BYTES[i])} B at ${number(OFFSETS[i])} to ${number(end)}\nalive during [${number(data.start[k])}, ${number(data.stop[k])})\nmemory pressure ${(100 * data.pressure[i]).toFixed(1)}%${pin}`;
  };
  const hover = (event, text) => {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const wide = tip.offsetWidth, tall = tip.offsetHeight;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, document.documentElement.clientWidth - wide - 4))}px`;
    tip.style.top = `${event.clientY + 16 + tall > window.innerHeight ? Math.max(4, event.clientY - tall - 12) : event.clientY + 16}px`;
  };

  const table = document.getElementById("buffers");
  const body = table.tBodies[0];
  const order = NAMES.map((_, i) => i);
  const line = (i) => {
    const row = document.createElement("tr");
    row.dataset.i = i;
    row.classList.toggle("marked", i === marked);
    row.append(...COLUMNS.map((c, k) => {
      const cell = document.createElement(c.key === "name" ? "th" : "td");
      if (c.key === "name") cell.scope = "row";
      else if (!c.numeric) cell.className = "word";
      const value = data.table.values[k][i];
      cell.textContent = c.numeric ? value.toLocaleString("en") : value;
      return cell;
    }));
    return row;
  };
  const filter = document.getElementById("filter");
  const { list, reach } = longTable(body, "buffer", NAMES.length, line, () => {
    const wanted = filter.value.trim().toLowerCase();
    return wanted ? order.filter((i) => NAMES[i].toLowerCase().includes(wanted)) : order;
  });
  [...body.rows].forEach((row, i) => { row.dataset.i = i; });
  const mark = (index, scroll) => {
    marked = index === marked ? -1 : index;
    if (scroll && marked >= 0) reach(marked);
    for (const row of body.rows) row.classList.toggle("marked", Number(row.dataset.i) === marked);
    const row = body.querySelector(".marked");
    const pane = document.getElementById("scroller");
    if (scroll && row) pane.scrollTop += row.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 2;
    redraw();
  };

  for (const chart of charts) {
    const { svg } = chart;
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const [x, y] = at(event);
      chart.drag = { x, y, atX: x, atY: y, moved: false };
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      const { drag } = chart, [x, y] = at(event);
      if (!drag) { hover(event, words(chart, x, y)); return; }
      const flat = svg.id === "alive" || event.pointerType === "touch";
      if (flat) [drag.y, drag.atY] = [chart.top, chart.bottom];
      else drag.atY = Math.max(chart.top, Math.min(y, chart.bottom));
      drag.atX = Math.max(chart.left, Math.min(x, chart.right));
      drag.moved ||= Math.abs(x - drag.x) > 5 || (!flat && Math.abs(y - drag.y) > 5);
      tip.hidden = true;
      const span = { x: Math.min(drag.x, drag.atX), y: Math.min(drag.y, drag.atY), width: Math.abs(drag.atX - drag.x), height: Math.abs(drag.atY - drag.y) };
      for (const [name, value] of Object.entries(drag.moved ? span : {})) chart.band.setAttribute(name, value);
    });
    svg.addEventListener("pointerup", (event) => {
      const { drag } = chart;
      chart.drag = null;
      if (!drag) return;
      if (!drag.moved) {
        hover(event, words(chart, drag.x, drag.y));
        const k = svg.id === "map" ? boxAt(chart, drag.x, drag.y) : -1;
        if (k >= 0) mark(data.box[k], true);
        return;
      }
      const [x0, x1] = [drag.x, drag.atX].sort((a, b) => a - b).map((x) => chart.time(x));
      const thin = Math.abs(drag.y - drag.atY) < 12;
      const [y1, y0] = [drag.y, drag.atY].sort((a, b) => a - b).map((y) => chart.bytes(y));
      const keep = svg.id === "alive" || thin;
      const level = Math.abs(drag.x - drag.atX) < 12;
      show(level ? view.x0 : x0, level ? view.x1 : x1, keep ? view.y0 : y0, keep ? view.y1 : y1);
    });
    svg.addEventListener("pointercancel", () => { chart.drag = null; redraw(); });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
    svg.addEventListener("dblclick", reset);
    svg.addEventListener("keydown", (event) => {
      const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : KEYS[event.key];
      if (act) { event.preventDefault(); act(); }
    });
  }

  const scale = document.querySelector(".scale");
  const paintScale = () => {
    if (!scale) return;
    const bySize = colouring === "size";
    scale.querySelector("[data-low]").textContent = bySize ? size(2 ** (Number.isFinite(low) ? low : 0)) : `${(100 * lowest).toFixed(0)}%`;
    scale.querySelector("[data-high]").textContent = bySize ? size(2 ** (Number.isFinite(high) ? high : 0)) : "100% of the largest live set";
    scale.style.setProperty("--ramp", `linear-gradient(90deg, ${RAMP.map(css).join(",")})`);
  };
  for (const button of document.querySelectorAll("[data-colour]")) {
    button.addEventListener("click", () => {
      colouring = button.dataset.colour;
      for (const other of document.querySelectorAll("[data-colour]")) other.setAttribute("aria-pressed", String(other === button));
      paintScale();
      redraw();
    });
  }

  sortable(table, (column) => COLUMNS[column].numeric, (column, sign, compare) => {
    const values = data.table.values[column];
    order.sort((a, b) => sign * compare(values[a], values[b]) || a - b);
    list();
  });
  filter.addEventListener("input", list);
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row && String(window.getSelection()) === "") mark(Number(row.dataset.i), false);
  });
  for (const button of document.querySelectorAll("[data-reset]")) button.addEventListener("click", reset);
  window.addEventListener("resize", redraw);
  // For tests: what is shown, and where the lower left corner of a box is.
  window.packing = {
    view: () => ({ ...view }),
    corner: (k) => [charts[0].px(data.start[k]), charts[0].py(OFFSETS[data.box[k]])],
  };
  paintScale();
  draw();
  document.documentElement.dataset.ready = "1";
});
