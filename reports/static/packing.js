"use strict";
loaded().then((data) => {
  const COLUMNS = data.table.columns.map(([key, numeric]) => ({ key, numeric }));
  const column = (key) => data.table.values[COLUMNS.findIndex((c) => c.key === key)];
  const [NAMES, BYTES, OFFSETS] = ["name", "bytes", "offset"].map(column);
  const ALIASES = column("group") !== undefined;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const THEMES = {
    light: { paper: "#ffffff", panel: "#f6f7f9", ink: "#1c2127", soft: "#5b6570", rule: "#dde1e6", fill: "rgba(0,114,178,0.18)", line: "#0072b2", warn: "#a33c00" },
    dark: { paper: "#14181d", panel: "#1c2229", ink: "#e8ebee", soft: "#9aa5b1", rule: "#313942", fill: "rgba(86,180,233,0.2)", line: "#56b4e9", warn: "#ff9d66" },
  };
  // viridis (van der Walt and Smith, 2015), without its darkest and lightest ends: apart for every kind of colour vision.
  const RAMP = [[72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43]];
  const FONT = getComputedStyle(document.body).fontFamily;
  let theme = THEMES[dark.matches ? "dark" : "light"];

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
  const pressures = data.box.map((i) => data.pressure[i]);
  const lowest = pressures.reduce((a, b) => Math.min(a, b), 1);
  const share = (i) => {
    const [value, from, to] = colouring === "size" ? [Math.log2(BYTES[i]), low, high] : [data.pressure[i], lowest, 1];
    return to > from ? (value - from) / (to - from) : 1;
  };
  const mixed = (t) => {
    const at = Math.max(0, Math.min(1, t)) * (RAMP.length - 1);
    const k = Math.min(RAMP.length - 2, Math.floor(at));
    return RAMP[k].map((c, j) => Math.round(c + (RAMP[k + 1][j] - c) * (at - k)));
  };
  const STEPS = Array.from({ length: 65 }, (_, k) => mixed(k / 64));
  const colour = (i) => STEPS[Math.round(share(i) * 64)];
  const css = (rgb) => `rgb(${rgb[0]},${rgb[1]},${rgb[2]})`;
  // By relative luminance (WCAG 2.2): dark on what is lighter than 0.2, where both contrasts are equal.
  const linear = (c) => (c <= 10 ? c / 3295 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const inkOn = (rgb) => (luminance(rgb) > 0.2 ? "#14181c" : "#ffffff");

  const narrow = () => window.innerWidth < 720;
  const margin = () => ({ l: narrow() ? 58 : 76, r: 8, t: 8, b: 26 });

  class Chart {
    constructor(canvas, paint) {
      this.canvas = canvas;
      this.paint = paint;
      this.drag = null;
    }
    resize() {
      const box = this.canvas.parentElement.getBoundingClientRect();
      const ratio = window.devicePixelRatio || 1;
      this.width = Math.max(50, box.width);
      this.height = box.height;
      this.canvas.width = Math.round(this.width * ratio);
      this.canvas.height = Math.round(this.height * ratio);
      this.pen = this.canvas.getContext("2d");
      this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    // The chart of live bytes keeps its own height: only time is shared.
    get y() { return this.canvas.id === "map" ? [view.y0, view.y1] : [WHOLE.y0, WHOLE.y1]; }
    px(time) { const m = margin(); return m.l + ((time - view.x0) / (view.x1 - view.x0)) * (this.width - m.l - m.r); }
    py(bytes) { const m = margin(), [y0, y1] = this.y; return this.height - m.b - ((bytes - y0) / (y1 - y0)) * (this.height - m.t - m.b); }
    time(px) { const m = margin(); return view.x0 + ((px - m.l) / (this.width - m.l - m.r)) * (view.x1 - view.x0); }
    bytes(py) { const m = margin(), [y0, y1] = this.y; return y0 + ((this.height - m.b - py) / (this.height - m.t - m.b)) * (y1 - y0); }
    draw() {
      this.resize();
      const { pen } = this, m = margin();
      pen.clearRect(0, 0, this.width, this.height);
      pen.font = `12px ${FONT}`;
      this.axes();
      pen.save();
      pen.beginPath();
      pen.rect(m.l, m.t, this.width - m.l - m.r, this.height - m.t - m.b);
      pen.clip();
      this.paint(this);
      pen.restore();
      if (this.drag && this.drag.moved) {
        pen.fillStyle = theme.fill;
        pen.strokeStyle = theme.line;
        const { x, y, atX, atY } = this.drag;
        pen.fillRect(x, y, atX - x, atY - y);
        pen.strokeRect(x, y, atX - x, atY - y);
      }
    }
    axes() {
      const { pen } = this, m = margin(), [y0, y1] = this.y;
      pen.strokeStyle = theme.rule;
      pen.fillStyle = theme.soft;
      pen.lineWidth = 1;
      pen.textBaseline = "middle";
      pen.textAlign = "right";
      for (const tick of ticks(y0, y1, (this.height - m.t - m.b) / 46, 2)) {
        const y = Math.round(this.py(tick)) + 0.5;
        pen.beginPath(); pen.moveTo(m.l, y); pen.lineTo(this.width - m.r, y); pen.stroke();
        pen.fillText(size(tick), m.l - 7, y);
      }
      pen.textBaseline = "top";
      pen.fillText("time", m.l - 16, this.height - m.b + 7);
      pen.textAlign = "center";
      for (const tick of ticks(view.x0, view.x1, (this.width - m.l - m.r) / 110, 10)) {
        const x = Math.round(this.px(tick)) + 0.5;
        pen.beginPath(); pen.moveTo(x, this.height - m.b); pen.lineTo(x, this.height - m.b + 4); pen.stroke();
        const half = pen.measureText(number(tick)).width / 2;
        if (x - half >= 0 && x + half <= this.width) pen.fillText(number(tick), x, this.height - m.b + 7);
      }
    }
    line(bytes, dash, tone) {
      const { pen } = this, m = margin(), y = Math.round(this.py(bytes)) + 0.5;
      pen.strokeStyle = tone;
      pen.lineWidth = 1.5;
      pen.setLineDash(dash);
      pen.beginPath(); pen.moveTo(m.l, y); pen.lineTo(this.width - m.r, y); pen.stroke();
      pen.setLineDash([]);
    }
    // On a patch of the background colour, to be readable on boxes of any colour.
    label(middle, text, tone, shift = 0) {
      const { pen } = this, wide = pen.measureText(text).width, right = this.width - margin().r - 4 - shift;
      pen.globalAlpha = 0.88;
      pen.fillStyle = theme.paper;
      pen.fillRect(right - wide - 5, middle - 8, wide + 9, 16);
      pen.globalAlpha = 1;
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      pen.fillStyle = tone;
      pen.fillText(text, right, middle + 0.5);
      return wide + 14;
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

  // Lines at the same height are one line with both names.
  const levels = (chart, names) => {
    const at = new Map();
    for (const [name, bytes, dash, tone] of names) {
      if (bytes === null || bytes === undefined) continue;
      if (at.has(bytes)) at.get(bytes).name += ` = ${name}`;
      else at.set(bytes, { name, dash, tone });
    }
    for (const [bytes, { dash, tone }] of at) chart.line(bytes, dash, tone);
    // Labels that would overlap are placed side by side.
    let last = -Infinity, shift = 0;
    for (const [bytes, { name, tone }] of [...at].sort((a, b) => b[0] - a[0])) {
      const y = chart.py(bytes), middle = y < margin().t + 18 ? y + 11 : y - 11;
      if (Math.abs(middle - last) >= 17) shift = 0;
      shift += chart.label(middle, `${name} ${size(bytes)}`, tone, shift);
      last = middle;
    }
  };

  const paintMap = (chart) => {
    const { pen } = chart;
    const { x0, x1, y0, y1 } = view;
    let labels = 0;
    for (let k = 0; k < data.box.length; k += 1) {
      const i = data.box[k], offset = OFFSETS[i], bytes = BYTES[i];
      if (data.stop[k] <= x0 || data.start[k] >= x1 || offset + bytes <= y0 || offset >= y1) continue;
      const left = chart.px(data.start[k]), right = chart.px(data.stop[k]);
      const top = chart.py(offset + bytes), bottom = chart.py(offset);
      const rgb = colour(i), width = right - left, height = bottom - top;
      pen.fillStyle = css(rgb);
      // A pixel of background between boxes that are large enough.
      const dx = width > 4 ? 0.5 : 0, dy = height > 4 ? 0.5 : 0;
      pen.fillRect(left + dx, top + dy, Math.max(0.6, width - 2 * dx), Math.max(0.6, height - 2 * dy));
      // Only colocated buffers (aliases) overlap.
      if (ALIASES) {
        pen.strokeStyle = theme.paper;
        pen.lineWidth = 1;
        pen.strokeRect(left, top, width, height);
      }
      if (height >= 13 && width >= 16 && labels < 600) {
        const text = NAMES[i], wide = pen.measureText(text).width;
        const from = Math.max(left, margin().l), to = Math.min(right, chart.width - margin().r);
        const upper = Math.max(top, margin().t), lower = Math.min(bottom, chart.height - margin().b);
        if (wide + 8 <= to - from && lower - upper >= 13) {
          labels += 1;
          pen.fillStyle = inkOn(rgb);
          pen.textAlign = "center";
          pen.textBaseline = "middle";
          pen.fillText(text, (from + to) / 2, (upper + lower) / 2 + 0.5);
        }
      }
    }
    outline(chart, data.unplaceable, theme.warn, 2);
    outline(chart, data.pinned, theme.ink, 1.5);
    if (marked >= 0) outline(chart, [marked], theme.ink, 3);
    for (const [name, start, stop] of data.memories) {
      chart.line(start, [2, 3], theme.soft);
      chart.line(stop, [2, 3], theme.soft);
      chart.label(chart.py(stop) + 11, name, theme.soft);
    }
    levels(chart, [["peak", data.peak, [], theme.ink], ["bound", data.bound, [6, 4], theme.line], ["capacity", near ? data.capacity : null, [2, 3], theme.warn]]);
  };
  const outline = (chart, which, tone, width) => {
    if (!which.length) return;
    const wanted = new Set(which), { pen } = chart;
    pen.strokeStyle = tone;
    pen.lineWidth = width;
    for (let k = 0; k < data.box.length; k += 1) {
      const i = data.box[k];
      if (!wanted.has(i)) continue;
      const left = chart.px(data.start[k]), top = chart.py(OFFSETS[i] + BYTES[i]);
      pen.strokeRect(left + width / 2, top + width / 2, Math.max(1, chart.px(data.stop[k]) - left - width), Math.max(1, chart.py(OFFSETS[i]) - top - width));
    }
  };
  const paintAlive = (chart) => {
    const { pen } = chart;
    const floor = chart.py(0);
    pen.beginPath();
    pen.moveTo(chart.px(data.times[0]), floor);
    data.times.forEach((time, k) => {
      pen.lineTo(chart.px(time), k ? chart.py(data.alive[k - 1]) : floor);
      pen.lineTo(chart.px(time), chart.py(data.alive[k]));
    });
    pen.fillStyle = theme.fill;
    pen.fill();
    pen.strokeStyle = theme.line;
    pen.lineWidth = 1.2;
    pen.stroke();
    levels(chart, [["peak", data.peak, [], theme.ink], ["bound", data.bound, [6, 4], theme.line], ["capacity", near ? data.capacity : null, [2, 3], theme.warn]]);
  };

  const charts = [["map", paintMap], ["alive", paintAlive]]
    .map(([id, paint]) => [document.getElementById(id), paint])
    .filter(([canvas]) => canvas)
    .map(([canvas, paint]) => new Chart(canvas, paint));
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
    for (let k = data.box.length - 1; k >= 0; k -= 1) {
      const i = data.box[k];
      if (data.start[k] <= time && time < data.stop[k] && OFFSETS[i] <= bytes && bytes < OFFSETS[i] + BYTES[i]) return k;
    }
    return -1;
  };
  const aliveAt = (time) => {
    let from = 0, to = data.times.length;
    while (from < to) { const mid = (from + to) >> 1; if (data.times[mid] <= time) from = mid + 1; else to = mid; }
    return from ? data.alive[from - 1] : 0;
  };
  const words = (chart, x, y) => {
    if (chart.canvas.id === "alive") {
      const time = Math.floor(chart.time(x));
      return time < first || time >= last ? "" : `time ${number(time)}\n${number(aliveAt(time))} B alive`;
    }
    const k = boxAt(chart, x, y);
    if (k < 0) return "";
    const i = data.box[k], end = OFFSETS[i] + BYTES[i];
    const pin = data.pinned.includes(i) ? "\npinned" : "";
    return `${NAMES[i]}\n${number(BYTES[i])} B at ${number(OFFSETS[i])} to ${number(end)}\nalive during [${number(data.start[k])}, ${number(data.stop[k])})\nmemory pressure ${(100 * data.pressure[i]).toFixed(1)}%${pin}`;
  };
  const hover = (chart, event) => {
    const box = chart.canvas.getBoundingClientRect(), m = margin();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const inside = x >= m.l && x <= chart.width - m.r && y >= m.t && y <= chart.height - m.b;
    const text = inside ? words(chart, x, y) : "";
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const wide = tip.offsetWidth, tall = tip.offsetHeight;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, document.documentElement.clientWidth - wide - 4))}px`;
    tip.style.top = `${event.clientY + 16 + tall > window.innerHeight ? Math.max(4, event.clientY - tall - 12) : event.clientY + 16}px`;
  };

  const table = document.getElementById("buffers");
  const body = table.tBodies[0];
  const more = document.getElementById("more");
  const PAGE = Math.max(500, body.rows.length);
  const order = NAMES.map((_, i) => i);
  let shown = Array.from(body.rows);
  let wanted = "";
  let picked = order;
  shown.forEach((row, i) => { row.dataset.i = i; });
  const cells = (i) => COLUMNS.map((c, k) => {
    const cell = document.createElement(c.key === "name" ? "th" : "td");
    if (c.key === "name") cell.scope = "row";
    else if (!c.numeric) cell.className = "word";
    const value = data.table.values[k][i];
    cell.textContent = c.numeric ? value.toLocaleString("en") : value;
    return cell;
  });
  const append = (count) => {
    const added = picked.slice(shown.length, shown.length + count).map((i) => {
      const row = document.createElement("tr");
      row.dataset.i = i;
      row.classList.toggle("marked", i === marked);
      row.append(...cells(i));
      return row;
    });
    body.append(...added);
    shown = shown.concat(added);
    more.hidden = shown.length >= picked.length;
  };
  const list = () => {
    picked = wanted ? order.filter((i) => NAMES[i].toLowerCase().includes(wanted)) : order;
    body.replaceChildren();
    shown = [];
    append(PAGE);
    document.getElementById("shown").textContent = shownOf(picked.length, NAMES.length, "buffer");
  };
  const mark = (index, scroll) => {
    marked = index === marked ? -1 : index;
    if (scroll && marked >= 0) {
      const at = picked.indexOf(marked);
      if (at >= shown.length) append(at + 20 - shown.length);
    }
    for (const row of shown) row.classList.toggle("marked", Number(row.dataset.i) === marked);
    const row = body.querySelector(".marked");
    const pane = document.getElementById("scroller");
    if (scroll && row) pane.scrollTop += row.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 2;
    redraw();
  };

  for (const chart of charts) {
    const at = (event) => {
      const box = chart.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    chart.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const [x, y] = at(event);
      chart.drag = { x, y, atX: x, atY: y, moved: false };
      chart.canvas.setPointerCapture(event.pointerId);
    });
    chart.canvas.addEventListener("pointermove", (event) => {
      if (!chart.drag) { hover(chart, event); return; }
      const [x, y] = at(event), m = margin();
      const flat = chart.canvas.id === "alive" || event.pointerType === "touch";
      if (flat) [chart.drag.y, chart.drag.atY] = [m.t, chart.height - m.b];
      else chart.drag.atY = Math.max(m.t, Math.min(y, chart.height - m.b));
      chart.drag.atX = Math.max(m.l, Math.min(x, chart.width - m.r));
      chart.drag.moved ||= Math.abs(x - chart.drag.x) > 5 || (!flat && Math.abs(y - chart.drag.y) > 5);
      tip.hidden = true;
      redraw();
    });
    chart.canvas.addEventListener("pointerup", (event) => {
      const drag = chart.drag;
      chart.drag = null;
      if (!drag) return;
      if (!drag.moved) {
        hover(chart, event);
        const k = chart.canvas.id === "map" ? boxAt(chart, drag.x, drag.y) : -1;
        if (k >= 0) mark(data.box[k], true);
        return;
      }
      const [x0, x1] = [drag.x, drag.atX].sort((a, b) => a - b).map((x) => chart.time(x));
      const thin = Math.abs(drag.y - drag.atY) < 12;
      const [y1, y0] = [drag.y, drag.atY].sort((a, b) => a - b).map((y) => chart.bytes(y));
      const keep = chart.canvas.id === "alive" || thin;
      const level = Math.abs(drag.x - drag.atX) < 12;
      show(level ? view.x0 : x0, level ? view.x1 : x1, keep ? view.y0 : y0, keep ? view.y1 : y1);
    });
    chart.canvas.addEventListener("pointercancel", () => { chart.drag = null; redraw(); });
    chart.canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    chart.canvas.addEventListener("dblclick", reset);
    chart.canvas.addEventListener("keydown", (event) => {
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
  document.getElementById("filter").addEventListener("input", (event) => {
    wanted = event.target.value.trim().toLowerCase();
    list();
  });
  more.addEventListener("click", () => append(4 * PAGE));
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row && String(window.getSelection()) === "") mark(Number(row.dataset.i), false);
  });
  for (const button of document.querySelectorAll("[data-reset]")) button.addEventListener("click", reset);

  dark.addEventListener("change", () => { theme = THEMES[dark.matches ? "dark" : "light"]; draw(); });
  window.addEventListener("resize", redraw);
  window.addEventListener("beforeprint", () => { theme = THEMES.light; draw(); });
  window.addEventListener("afterprint", () => { theme = THEMES[dark.matches ? "dark" : "light"]; draw(); });
  // For tests: what is shown, and where the lower left corner of a box is.
  window.packing = {
    view: () => ({ ...view }),
    marked: () => (marked < 0 ? "" : NAMES[marked]),
    corner: (k) => [charts[0].px(data.start[k]), charts[0].py(OFFSETS[data.box[k]])],
  };
  paintScale();
  draw();
  document.documentElement.dataset.ready = "1";
});
