"use strict";
// Draw the charts of a study. Returns what fits them into their boxes again.
const drawStudy = (data) => {
  const small = window.matchMedia("(max-width: 719px)");
  const FONT = getComputedStyle(document.body).fontFamily;
  const CONFIG = { displayModeBar: false, responsive: true, showTips: false };
  const CLEAR = "rgba(0,0,0,0)";

  // Text, rules and paper have the colours of the style sheet, in every theme and on paper.
  const laidOut = (chart) => {
    const narrow = small.matches;
    const layout = { ...chart.layout };
    for (const key of ["xaxis", "yaxis"]) {
      const own = { ...layout[key], ...(narrow ? chart.narrow[key] : {}) };
      layout[key] = { zeroline: false, automargin: true, tickfont: { size: 12 }, ...own,
        title: { ...own.title, standoff: 8, font: { size: 12 } } };
    }
    return { ...layout, autosize: true, showlegend: false, dragmode: narrow ? false : "zoom",
      margin: { l: narrow ? 34 : 48, r: 12, t: 10, b: 40 }, paper_bgcolor: CLEAR, plot_bgcolor: CLEAR,
      font: { family: FONT }, hoverlabel: { align: "left", font: { family: FONT, size: 13 } } };
  };
  const draw = (id) => Plotly.react(id, data.charts[id].shown ?? data.charts[id].data, laidOut(data.charts[id]), CONFIG);

  const legend = (button) => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    const from = Number(button.dataset.from), traces = Number(button.dataset.traces);
    for (const id of button.dataset.charts.split(" ")) {
      const there = document.getElementById(id).data.length;
      const wanted = Array.from({ length: traces }, (_, k) => from + k).filter((k) => k < there);
      if (wanted.length) Plotly.restyle(id, { visible: on }, wanted);
    }
  };

  // One question instead of the medians: every planner's best plan, and below 0 its own bound as it rises.
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const number = (value) => value.toLocaleString("en");
  const asQuestion = (chosen) => {
    const chart = data.charts.time;
    if (chosen < 0) return chart.data;
    const made = chart.data.map((trace) => ({ ...trace, x: [], y: [], text: [] }));
    const bounds = [];
    for (const [planner, steps] of data.questions[chosen].lines) {
      const trace = made[planner], name = `<b>${escaped(data.planners[planner])}</b>`;
      const found = steps.filter((s) => s[1] !== null);
      trace.x = found.map((s) => s[0]);
      trace.y = found.map((s) => s[1]);
      trace.text = found.map((s) => `${name}<br>peak ${number(s[2])} B after ${number(s[0])} s<br>bound ${number(s[4])} B`);
      bounds.push({ ...trace, mode: "lines", x: steps.map((s) => s[0]), y: steps.map((s) => s[3]), opacity: 0.5,
        line: { ...trace.line, width: 1 }, text: steps.map((s) => `${name}<br>its own bound ${number(s[4])} B after ${number(s[0])} s`) });
    }
    return [...made, ...bounds];
  };
  const question = document.getElementById("question");
  question?.addEventListener("change", () => {
    const chart = data.charts.time;
    chart.shown = asQuestion(Number(question.value));
    const chosen = Number(question.value) >= 0;
    const drawn = chart.shown.filter((t) => t.x.length);
    const ends = (values, margin) => [Math.min(...values) - margin, Math.max(...values) + margin];
    draw("time").then(() => {
      for (const button of document.querySelectorAll("[data-charts=time]")) button.setAttribute("aria-pressed", "true");
      const whole = laidOut(chart);
      return Plotly.relayout("time", {
        "xaxis.range": chosen ? ends(drawn.flatMap((t) => t.x.map(Math.log10)), 0.05) : whole.xaxis.range,
        "yaxis.range": chosen ? ends([0, 0.3, ...drawn.flatMap((t) => t.y)], 0.06) : whole.yaxis.range,
      });
    });
  });

  const open = (event) => {
    const row = event.points[0]?.customdata;
    if (row !== undefined) location.hash = `point-${data.points[row].key}`;
  };
  for (const button of document.querySelectorAll("[data-charts]")) button.addEventListener("click", () => legend(button));
  const all = Object.keys(data.charts);
  const drawAll = () => Promise.all(all.map(draw));
  small.addEventListener("change", drawAll);
  window.addEventListener("beforeprint", () => all.forEach((id) => Plotly.relayout(id, { width: Math.min(690, document.getElementById(id).clientWidth) })));
  window.addEventListener("afterprint", () => all.forEach((id) => Plotly.relayout(id, { width: null, autosize: true })));
  drawAll().then(() => {
    for (const id of all) document.getElementById(id).on("plotly_click", open);
    document.documentElement.dataset.ready = "1";
  });
  return () => all.forEach((id) => Plotly.Plots.resize(id));
};
