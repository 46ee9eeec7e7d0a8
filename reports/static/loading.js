"use strict";
// A page's data and, unless a file beside the page has run, Plotly's script lie in the page compressed.
const unpacked = (id) => {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};
const loaded = async () => {
  if (document.getElementById("plotly")) {
    document.head.append(Object.assign(document.createElement("script"), { textContent: await unpacked("plotly") }));
  }
  const alone = document.getElementById("alone");
  if (alone) alone.hidden = Boolean(window.Plotly);
  return JSON.parse(await unpacked("data"));
};
