"use strict";
// The network as a graph: dagre lays out a part of the ops at a time, with the boxes around them. A node leads to its bars
// and buffers in the charts over time and to its row of the table; openOp(number) is called for that. Returns what shows an op.
const drawNetwork = (data, openOp) => {
  const PART = 150, HEIGHT = 40;
  const box = document.getElementById("network"), parts = document.getElementById("network-part");
  const measure = document.getElementById("network-measure"), scale = document.getElementById("network-scale");
  const { ops, inputs, outputs, groups, edges, measures } = data;
  const units = { stall: "cycles", time: "cycles", bytes: "B", energy: "nJ" };
  const shown = (number) => number.toLocaleString("en");
  const name = (n) => (n < ops.length ? ops[n][0] : [...inputs, ...outputs][n - ops.length]);
  const kind = (n) => (n < ops.length ? ops[n][1] : n < ops.length + inputs.length ? "input" : "output");
  const percent = (part, whole) => `${(100 * part / whole || 0).toFixed(1)}%`;
  const told = (n) => {
    if (n >= ops.length) return `${name(n)}, ${kind(n)} of the network`;
    if (!ops[n][3]) return `${name(n)}, ${kind(n)}, did not run`;
    const values = Object.entries(measures).map(([key, of]) => `${key} ${shown(of[n])} ${units[key]}`);
    return `${name(n)}, ${kind(n)}: ${values.join(", ")}; ${percent(measures.stall[n], measures.time[n])} of its time stalled`;
  };
  const cut = (text, most) => (text.length > most ? `\u2026${text.slice(1 - most)}` : text);
  const filled = new Set([...ops.map((op) => op[2]), ...groups.map((group) => group[2])]);
  let first = -1, nodes = new Map(), chosen = -1;

  const layOut = () => {
    const inside = (n) => n >= first && n < Math.min(first + PART, ops.length);
    const graph = new dagre.graphlib.Graph({ compound: true, multigraph: true });
    graph.setGraph({ ranksep: ops.some((op, n) => inside(n) && op[2] >= 0) ? 36 : 20, // room for the names of boxes
      nodesep: 14, edgesep: 8, marginx: 8, marginy: 8, ranker: "tight-tree" });
    const wide = (n) => Math.max(76, 16 + 6.8 * Math.max(cut(name(n), 26).length, kind(n).length + 12));
    const add = (n) => graph.setNode(`${n}`, { width: wide(n), height: HEIGHT });
    const group = (g) => {
      const key = `box ${g}`;
      if (!graph.hasNode(key)) {
        graph.setNode(key, {});
        if (groups[g][2] >= 0) graph.setParent(key, group(groups[g][2]));
      }
      return key;
    };
    for (let n = first; inside(n); n += 1) {
      add(n);
      if (ops[n][2] >= 0) graph.setParent(`${n}`, group(ops[n][2]));
    }
    const drawn = edges.filter(([from, to]) => inside(from) || inside(to));
    drawn.forEach(([from, to, tensor, bytes, how], i) => {
      for (const n of [from, to]) if (!graph.hasNode(`${n}`)) add(n);
      graph.setEdge(`${from}`, `${to}`, { tensor, bytes, how }, `${i}`);
    });
    // The box of an arm without ops needs a node, or dagre gives it no place.
    groups.forEach(([, , around], g) => {
      if (filled.has(g) || !graph.hasNode(`box ${around}`)) return;
      graph.setNode(`nothing ${g}`, { width: 76, height: 10 });
      graph.setParent(`nothing ${g}`, group(g));
    });
    dagre.layout(graph);
    return graph;
  };
  const drawBox = (svg, graph, g) => {
    const { x, y, width, height } = graph.node(`box ${g}`);
    const [label, kind] = groups[g];
    const made = shape("g", { class: `box ${kind}` });
    made.append(shape("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 8 }));
    made.append(shape("text", { x: x - width / 2 + 7, y: y - height / 2 + 14 }, cut(`${kind} ${label}`, Math.floor((width - 10) / 5.9))));
    svg.append(made);
  };
  const drawEdge = (svg, graph, e) => {
    const { points, tensor, bytes, how } = graph.edge(e);
    const line = shape("path", { class: how ?? "", d: `M${points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L")}`, "marker-end": "url(#arrow)" });
    const words = { again: ", for the next iteration", decides: ", decides which arm runs" }[how] ?? "";
    line.append(shape("title", {}, `${tensor}, ${shown(bytes)} B${words}`));
    svg.append(line);
  };
  const drawNode = (svg, graph, n) => {
    const { x, y, width, height } = graph.node(`${n}`);
    const far = n < first || n >= first + PART, op = n < ops.length;
    const made = shape("g", { class: `node${far ? " far" : ""}${op && !ops[n][3] ? " idle" : ""}`, transform: `translate(${x - width / 2} ${y - height / 2})` });
    if (op) for (const [key, value] of Object.entries({ role: "button", tabindex: -1, "aria-label": told(n) })) made.setAttribute(key, value);
    made.append(shape("rect", { width, height, rx: op ? 5 : height / 2 }), shape("title", {}, told(n)));
    made.append(shape("text", { x: width / 2, y: op ? 16 : 24 }, cut(name(n), 26)), shape("text", { x: width / 2, y: 32, class: "value" }));
    if (op) {
      made.addEventListener("click", () => openOp(n));
      made.addEventListener("focus", () => rove(n));
      nodes.set(n, made);
    }
    svg.append(made);
  };
  const rove = (n) => {
    for (const [other, node] of nodes) node.setAttribute("tabindex", other === n ? 0 : -1);
  };
  const colour = () => {
    const values = measures[measure.value], most = Math.max(0, ...values);
    for (const [n, node] of nodes) {
      node.style.setProperty("--share", most ? values[n] / most : 0);
      node.querySelector(".value").textContent = `${kind(n)} \u00b7 ${shown(values[n])}`;
    }
    box.dataset.measure = measure.value;
    scale.textContent = `0 to ${shown(most)} ${units[measure.value]}`;
  };
  const draw = (n) => {
    if (first >= 0 && n >= first && n < first + PART) return;
    first = n - n % PART;
    parts.value = `${first}`;
    nodes = new Map();
    const graph = layOut();
    const { width, height } = graph.graph();
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    const arrow = shape("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
    arrow.append(shape("path", { d: "M0,0L8,4L0,8z" }));
    svg.append(arrow);
    groups.forEach((_, g) => { if (graph.hasNode(`box ${g}`)) drawBox(svg, graph, g); });
    for (const e of graph.edges()) drawEdge(svg, graph, e);
    graph.nodes().filter((key) => /^\d+$/.test(key)).map(Number).sort((a, b) => a - b).forEach((key) => drawNode(svg, graph, key));
    box.replaceChildren(svg);
    box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
    rove(n);
    colour();
    nodes.get(chosen)?.classList.add("chosen");
  };
  const mark = (n) => {
    nodes.get(chosen)?.classList.remove("chosen");
    chosen = n;
    nodes.get(n)?.classList.add("chosen");
  };
  const reach = (n) => {
    draw(n);
    nodes.get(n).focus();
  };

  for (let n = 0; n < ops.length; n += PART) {
    parts.append(new Option(`${shown(n + 1)} to ${shown(Math.min(n + PART, ops.length))}`, n));
  }
  parts.parentElement.hidden = ops.length <= PART;
  parts.addEventListener("change", () => draw(Number(parts.value)));
  measure.addEventListener("change", colour);
  box.addEventListener("keydown", (event) => {
    const at = [...nodes].find(([, node]) => node === document.activeElement)?.[0];
    const next = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: ops.length - 1 }[event.key];
    if (at === undefined || (next === undefined && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    if (next === undefined) openOp(at);
    else reach(Math.max(0, Math.min(ops.length - 1, next)));
  });
  // A layout takes a tenth of a second: not before somebody looks.
  const look = () => { if (first < 0 && ops.length) draw(0); };
  new IntersectionObserver((seen) => { if (seen.some((each) => each.isIntersecting)) look(); }, { rootMargin: "300px" }).observe(box);
  window.addEventListener("beforeprint", look);
  return { mark, reach, told };
};
