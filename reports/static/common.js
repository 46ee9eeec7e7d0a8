"use strict";
// A page's data and libraries (of Plotly unless a file beside the page has run) lie in the page compressed.
const unpacked = (element) => {
  const packed = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};
const loaded = async () => {
  for (const library of document.querySelectorAll("script.library")) {
    document.head.append(Object.assign(document.createElement("script"), { textContent: await unpacked(library) }));
  }
  const alone = document.getElementById("alone");
  if (alone) alone.hidden = Boolean(window.Plotly);
  return JSON.parse(await unpacked(document.getElementById("data")));
};
// How many rows are shown, in words: "12 of 300 points".
const shownOf = (shown, all, noun) => {
  const total = `${all.toLocaleString("en")} ${noun}${all === 1 ? "" : "s"}`;
  return shown === all ? total : `${shown.toLocaleString("en")} of ${total}`;
};
// An element of SVG.
const shape = (kind, attributes, text = "") => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
};
// A table of many rows, made as they are asked for: after those in the HTML, more with each press of the button #more.
// make(row) is the row's element, wanted() the numbers of the rows to show, in their order. Returns what lists them anew, and
// what appends rows up to one.
const longTable = (body, noun, all, make, wanted) => {
  const PAGE = 500, more = document.getElementById("more");
  let found = wanted();
  const append = (number) => {
    const from = body.rows.length;
    body.append(...found.slice(from, from + number).map(make));
    const left = found.length - body.rows.length;
    more.hidden = left <= 0;
    more.textContent = `Show ${Math.min(left, 4 * PAGE).toLocaleString("en")} more of ${left.toLocaleString("en")}`;
  };
  append(0);
  more.addEventListener("click", () => append(4 * PAGE));
  body.parentElement.addEventListener("complete", () => append(found.length));
  const list = () => {
    found = wanted();
    body.replaceChildren();
    append(PAGE);
    document.getElementById("shown").textContent = shownOf(found.length, all, noun);
  };
  const reach = (row) => {
    const at = found.indexOf(row);
    if (at >= body.rows.length) append(at + 20 - body.rows.length);
  };
  return { list, reach };
};
