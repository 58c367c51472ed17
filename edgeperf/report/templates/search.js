"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { points, references, cloud, axes, knee, history } = data;
  const plot = document.getElementById("plot");
  if (!plot) return;

  const detail = document.getElementById("detail");
  const xAxis = document.getElementById("x-axis");
  const yAxis = document.getElementById("y-axis");
  const logX = document.getElementById("log-x");
  const showCloud = document.getElementById("show-cloud");
  const rows = new Map([...document.querySelectorAll("#front-table tbody tr")].map((row) => [row.dataset.network, row]));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let selected = Math.max(0, points.findIndex((point) => point.network === knee));

  for (const [select, chosen] of [[xAxis, data.x], [yAxis, data.y]]) {
    for (const key of Object.keys(axes)) select.add(new Option(axes[key].label, key, key === chosen, key === chosen));
  }

  const title = (key) => (axes[key].unit ? `${axes[key].label} [${axes[key].unit}]` : axes[key].label);
  const text = (point, key) => `${point.cells[key]} ${axes[key].unit}`.trim();
  const half = (point, key, end) => {
    const ends = point.ends[key];
    return ends ? Math.abs(ends[end] - point.numbers[key]) : 0;
  };
  const hover = (point) => {
    const lines = Object.keys(axes).map((key) => {
      const range = point.intervals[key] ? ` (${point.intervals[key]})` : "";
      return `${axes[key].label}: ${text(point, key)}${range}`;
    });
    return [`<b>${point.title}</b>`, ...lines, point.in_range ? "inside the measured range" : "outside the measured range"].join("<br>");
  };
  const errorBar = (key) => ({
    type: "data", symmetric: false, thickness: 1, width: 0, color: colour("--interval"),
    array: points.map((point) => half(point, key, 1)), arrayminus: points.map((point) => half(point, key, 0)),
  });

  const MARGIN = { l: 64, r: 20, t: 16, b: 72 };
  const NAME_SIZE = 11;
  const MARK = 8;
  // Across and down; first to where the front is not, when less is better across and more is better up.
  const SIDES = [[1, 0], [1, 1], [0, 1], [-1, 1], [1, -1], [-1, 0], [0, -1], [-1, -1]];
  const DISTANCES = [0, 14, 28, 42, 56];

  // Names of known networks, each as near as it can be without covering another name or a network, behind a thin line
  // where that is not beside its mark. One that fits nowhere is left to the pointer.
  function names(xView, yView) {
    const width = plot.clientWidth - MARGIN.l - MARGIN.r, height = plot.clientHeight - MARGIN.t - MARGIN.b;
    const along = (key, view, point) => (view.type === "log" ? Math.log10(point.numbers[key]) : point.numbers[key]);
    const share = (at, { range: [low, high] }) => (at - low) / (high - low);
    const place = (point) => {
      const at = [along(xAxis.value, xView, point), along(yAxis.value, yView, point)];
      return { at, x: share(at[0], xView) * width, y: (1 - share(at[1], yView)) * height };
    };
    const inside = ([left, top, right, bottom]) => left >= 0 && top >= 0 && right <= width && bottom <= height;
    const mark = ({ x, y }) => [x - MARK / 2, y - MARK / 2, x + MARK / 2, y + MARK / 2];
    const known = references.map(place);
    const taken = [...known, ...points.map(place)].map(mark).filter(inside);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = `${NAME_SIZE}px ${getComputedStyle(document.body).fontFamily}`;
    const free = (one) => taken.every((other) => one[2] < other[0] || one[0] > other[2] || one[3] < other[1] || one[1] > other[3]);
    return references.flatMap((point, index) => {
      const { at, x, y } = known[index], wide = pen.measureText(point.network).width, high = 1.2 * NAME_SIZE;
      if (!inside(mark(known[index]))) return [];
      for (const distance of DISTANCES) {
        for (const [across, down] of SIDES) {
          const ax = across * (distance + MARK + wide / 2), ay = down * (distance + MARK + high / 2);
          const box = [x + ax - wide / 2, y + ay - high / 2, x + ax + wide / 2, y + ay + high / 2];
          if (!inside(box) || !free(box)) continue;
          taken.push(box);
          return [{
            x: at[0], y: at[1], ax, ay, text: point.network, captureevents: false, borderpad: 0, standoff: MARK / 2,
            font: { size: NAME_SIZE, color: colour("--reference") },
            showarrow: true, arrowhead: 0, arrowwidth: 0.75, arrowcolor: distance ? colour("--reference") : "rgba(0,0,0,0)",
          }];
        }
      }
      return [];
    });
  }

  function traces() {
    const x = xAxis.value, y = yAxis.value;
    const order = points.map((_, index) => index).sort((a, b) => points[a].numbers[x] - points[b].numbers[x]);
    const found = [];
    if (showCloud.checked && cloud.columns[x] && cloud.columns[y]) {
      found.push({
        type: "scattergl", mode: "markers", name: "other candidates", hoverinfo: "skip",
        x: cloud.columns[x], y: cloud.columns[y], marker: { size: 4, color: colour("--cloud"), opacity: 0.45 },
      });
    }
    found.push({
      type: "scattergl", mode: "lines", hoverinfo: "skip", showlegend: false,
      x: order.map((index) => points[index].numbers[x]), y: order.map((index) => points[index].numbers[y]),
      line: { color: colour("--accent"), width: 1.5, dash: "dot" },
    });
    found.push({
      type: "scattergl", mode: "markers", name: "front", meta: "front",
      x: points.map((point) => point.numbers[x]), y: points.map((point) => point.numbers[y]),
      error_x: errorBar(x), error_y: errorBar(y), text: points.map(hover), hovertemplate: "%{text}<extra></extra>",
      marker: {
        size: points.map((point, index) => (index === selected ? 17 : point.network === knee ? 14 : 9)),
        color: points.map((point) => (point.network === knee ? colour("--knee") : colour("--accent"))),
        symbol: points.map((point) => (point.network === knee ? "star" : point.in_range ? "circle" : "circle-open")),
        line: { width: 0.75, color: colour("--page") }, opacity: 1,
      },
    });
    const measured = points.filter((point) => point.measured);
    if (measured.length) {
      const truth = (point, key) => point.measured.numbers[key] ?? point.numbers[key];
      found.push({
        type: "scattergl", mode: "markers", name: "measured", text: measured.map((point) => `<b>${point.title}</b><br>measured`),
        x: measured.map((point) => truth(point, x)), y: measured.map((point) => truth(point, y)),
        hovertemplate: "%{text}<extra></extra>", marker: { size: 11, symbol: "square-open", color: colour("--knee"), line: { width: 2 } },
      });
    }
    if (references.length) {
      found.push({
        type: "scattergl", mode: "markers", name: "known networks",
        x: references.map((point) => point.numbers[x]), y: references.map((point) => point.numbers[y]),
        customdata: references.map(hover), hovertemplate: "%{customdata}<extra></extra>",
        marker: {
          size: MARK, color: colour("--reference"), line: { width: 1.5, color: colour("--reference") },
          symbol: references.map((point) => (point.in_range ? "diamond" : "diamond-open")),
        },
      });
    }
    return found;
  }

  function axis(key, log) {
    // The front fills the frame; known networks far off it are in the table, and a double click shows them.
    const numbers = points.flatMap((point) => [point.numbers[key], ...(point.ends[key] || [])]).filter((n) => !log || n > 0);
    let low = Math.min(...numbers), high = Math.max(...numbers);
    if (log) { low = Math.log10(low); high = Math.log10(high); }
    const margin = 0.07 * (high - low || 1);
    return {
      title: { text: title(key) }, type: log ? "log" : "linear", range: [low - margin, high + margin], automargin: true,
      gridcolor: colour("--line"), zeroline: false, linecolor: colour("--line"), ...(log ? { dtick: "D2", tickformat: "~g" } : {}),
    };
  }

  const common = () => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: getComputedStyle(document.body).fontFamily, color: colour("--ink"), size: 13 },
    hoverlabel: { bgcolor: colour("--panel"), bordercolor: colour("--line"), font: { color: colour("--ink") }, align: "left" },
  });

  function draw() {
    const xaxis = axis(xAxis.value, logX.checked), yaxis = axis(yAxis.value, false);
    const layout = {
      ...common(), margin: MARGIN, hovermode: "closest", xaxis, yaxis, annotations: names(xaxis, yaxis),
      legend: { orientation: "h", x: 1, xanchor: "right", y: 0.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    };
    Plotly.react(plot, traces(), layout, { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "toImage"] });
  }

  function element(tag, content, parent) {
    const made = document.createElement(tag);
    made.textContent = content;
    parent.append(made);
    return made;
  }

  function describe(point) {
    detail.replaceChildren();
    element("h3", point.title, detail);
    element("p", point.subtitle, detail);
    const list = element("dl", "", detail);
    for (const key of Object.keys(axes)) {
      const row = element("div", "", list);
      element("dt", axes[key].short, row);
      const value = element("dd", text(point, key), row);
      if (point.intervals[key]) element("small", point.intervals[key], value);
    }
    for (const [name, value] of [["Accuracy is", point.accuracy_provenance], ["Measured range", point.in_range ? "inside" : "outside"]]) {
      const row = element("div", "", list);
      element("dt", name, row);
      element("dd", value, row);
    }
  }

  function select(index, redraw = true) {
    selected = (index + points.length) % points.length;
    for (const [network, row] of rows) row.classList.toggle("selected", network === points[selected].network);
    describe(points[selected]);
    if (redraw) draw();
  }

  function sortTable(button) {
    const key = button.dataset.sort;
    const column = button.closest("th");
    const ascending = column.getAttribute("aria-sort") !== "ascending";
    for (const other of column.parentNode.children) other.removeAttribute("aria-sort");
    column.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const value = (point) => (key === "title" ? point.title : point.numbers[key]);
    const sorted = [...points].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (ascending ? 1 : -1));
    document.querySelector("#front-table tbody").append(...sorted.map((point) => rows.get(point.network)));
  }

  select(selected, false);
  draw();
  plot.on("plotly_click", (event) => {
    const hit = event.points.find((point) => point.data.meta === "front");
    if (hit) select(hit.pointIndex);
  });
  plot.on("plotly_relayout", (change) => {
    // Not for annotations themselves, which come back here.
    if (!("annotations" in change)) Plotly.relayout(plot, { annotations: names(plot.layout.xaxis, plot.layout.yaxis) });
  });
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const along = points.map((_, index) => index).sort((a, b) => points[a].numbers[xAxis.value] - points[b].numbers[xAxis.value]);
    select(along[(along.indexOf(selected) + step + points.length) % points.length]);
  });
  for (const control of [xAxis, yAxis, logX, showCloud]) control.addEventListener("change", draw);
  for (const [network, row] of rows) {
    row.querySelector("th button").addEventListener("click", () => select(points.findIndex((point) => point.network === network)));
  }
  for (const button of document.querySelectorAll("[data-sort]")) button.addEventListener("click", () => sortTable(button));
  for (const button of document.querySelectorAll("[data-export]")) {
    button.addEventListener("click", () => Plotly.downloadImage(plot, { format: button.dataset.export, filename: "front", width: 1200, height: 720, scale: 2 }));
  }

  Plotly.newPlot("progress", [{
    type: "scatter", mode: "lines", x: history.map((_, index) => index + 1), y: history.map((share) => 100 * share),
    line: { color: colour("--accent"), width: 2 }, hovertemplate: "generation %{x}: %{y:.2f} %<extra></extra>",
  }], {
    ...common(), margin: { l: 64, r: 20, t: 16, b: 56 },
    xaxis: { title: { text: "Generation" }, gridcolor: colour("--line"), zeroline: false },
    yaxis: { title: { text: "Hypervolume [%]" }, gridcolor: colour("--line"), zeroline: false },
  }, { responsive: true, displayModeBar: false });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
