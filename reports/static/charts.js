"use strict";
// Figures of Plotly in the page's own colours and type: for light and dark, for wide and narrow screens, and for paper.
const DARK = window.matchMedia("(prefers-color-scheme: dark)"), SMALL = window.matchMedia("(max-width: 719px)");
const THEMES = {
  light: { paper: "#ffffff", panel: "#ffffff", ink: "#1c2127", soft: "#5b6570", rule: "#dde1e6", accent: "#0072b2" },
  dark: { paper: "#14181d", panel: "#1c2229", ink: "#e8ebee", soft: "#9aa5b1", rule: "#313942", accent: "#56b4e9" },
};
// The theme on screen. To ask for DARK.matches before the event that it has changed would keep the event from coming.
let scheme = DARK.matches ? "dark" : "light";
DARK.addEventListener("change", () => { scheme = DARK.matches ? "dark" : "light"; });
const preferred = () => THEMES[scheme];
// A copy of traces or of a layout, with the theme's colours for their names.
const themed = (value, theme) => {
  if (Array.isArray(value)) return value[0]?.constructor === Object ? value.map((each) => themed(each, theme)) : value;
  if (value?.constructor !== Object) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, key.endsWith("color") ? theme[each] ?? each : themed(each, theme)]);
  return Object.fromEntries(entries);
};
const laidOut = (layout, theme) => {
  const font = { family: getComputedStyle(document.body).fontFamily, color: theme.ink };
  const axis = (given) => ({
    ...given, gridcolor: theme.rule, linecolor: theme.rule, tickcolor: theme.rule, automargin: true,
    nticks: given.categoryarray ? 0 : SMALL.matches ? 5 : 10,
    tickfont: { color: theme.soft, size: 12 },
    title: { ...given.title, standoff: 10, font: { color: theme.soft, size: 12 } },
  });
  return {
    ...themed(layout, theme),
    autosize: true,
    margin: { l: SMALL.matches ? 40 : 64, r: SMALL.matches ? 6 : 14, t: 48, b: 42 }, // the buttons, and then the legend
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font,
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { color: theme.ink, size: 12 }, bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: { bgcolor: theme.panel, bordercolor: theme.soft, font: { ...font, size: 13 }, align: "left" },
    modebar: { color: theme.soft, activecolor: theme.ink, bgcolor: "rgba(0,0,0,0)" },
    xaxis: axis(layout.xaxis),
    yaxis: axis(layout.yaxis),
  };
};
// Named one by one, so that no version of Plotly adds a button that would leave the page.
const BUTTONS = [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]];
const CONFIG = { displaylogo: false, responsive: true, modeBarButtons: BUTTONS, displayModeBar: "hover" };
// Draws each figure into the element of its id, and again where the screen changes. Returns when all are there.
const drawCharts = (figures) => {
  const charts = Object.keys(window.Plotly ? figures : {}).map((id) => document.getElementById(id));
  const draw = (theme) => Promise.all(charts.map((chart) => {
    const { data, layout } = figures[chart.id], hidden = chart.data?.map((trace) => trace.visible);
    const traces = data.map((trace, i) => ({ ...themed(trace, theme), visible: hidden?.[i] ?? trace.visible ?? true }));
    return Plotly.react(chart, traces, laidOut(layout, theme), CONFIG);
  }));
  for (const screen of [DARK, SMALL]) screen.addEventListener("change", () => draw(preferred()));
  window.addEventListener("beforeprint", () => {
    draw(THEMES.light);
    charts.forEach((chart) => Plotly.relayout(chart, { width: Math.min(690, chart.clientWidth) }));
  });
  window.addEventListener("afterprint", () => draw(preferred()));
  return draw(preferred());
};
