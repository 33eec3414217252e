// ---- The graph above the timeline: grids alive, multiprocessors in use, and the ruler.
// A count over time, from the times at which it grows and shrinks. Its integral is exact, so that what is drawn for a
// pixel is the mean over it, however often the count changes in between.
function countOver(starts, ends) {
  starts.sort(); ends.sort();
  const sums = (values) => { const s = new Float64Array(values.length + 1); for (let k = 0; k < values.length; ++k) s[k + 1] = s[k] + values[k]; return s; };
  const startSums = sums(starts), endSums = sums(ends);
  const integral = (t) => {
    const s = lowerBound(starts, t), e = lowerBound(ends, t);
    return (s - e) * t - startSums[s] + endSums[e];
  };
  let most = 0, now = 0;
  for (let s = 0, e = 0; s < starts.length; ++s) {
    while (e < ends.length && ends[e] <= starts[s]) { ++e; --now; }
    most = Math.max(most, ++now);
  }
  return {
    most: most,
    // Of half-open times: what begins at t counts, what ends at t does not.
    at: (t) => lowerBound(starts, t + 0.5) - lowerBound(ends, t + 0.5),
    mean: (a, b) => (integral(b) - integral(a)) / Math.max(1e-9, b - a),
  };
}
// Alive: launched, and not ended yet. A lost launch never is.
const alive = (function () {
  const living = order.filter((i) => trace.begun[i] >= 0);
  return countOver(Float64Array.from(living, (i) => trace.launched[i]), Float64Array.from(living, (i) => finish[i]));
})();
// In use: a grid whose first block ran there is between begin and end.
const busy = (function () {
  const starts = [], ends = [], until = new Map();
  for (const i of order) {
    if (trace.begun[i] < 0) continue;
    const p = trace.processor[i], last = until.get(p);
    if (last === undefined || begin[i] > last) {
      if (last !== undefined) ends.push(last);
      starts.push(begin[i]);
      until.set(p, finish[i]);
    } else if (finish[i] > last) until.set(p, finish[i]);
  }
  for (const last of until.values()) ends.push(last);
  return Object.assign(countOver(Float64Array.from(starts), Float64Array.from(ends)), { processors: until.size });
})();
const processorsName = trace.engine === "host" ? "workers" : "multiprocessors";

function ticks() { return d3.scale.linear().domain([from, to]).ticks(Math.max(2, Math.floor((width - nameWidth) / 110))); }
// As many digits as tell neighbouring ticks apart.
function tickText(t, step) {
  const [size, unit] = to >= 1e9 ? [1e9, " s"] : to >= 1e6 ? [1e6, " ms"] : to >= 1e3 ? [1e3, " \u00b5s"] : [1, " ns"];
  return (t / size).toFixed(Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / size) - 1e-9)))) + unit;
}

function drawGraph() {
  const graph = byId("graph"), context = prepared(graph, 82), base = 58, top = 5, right = Math.ceil(width);
  const areaOf = (count, most, fill, style) => {
    context.beginPath();
    context.moveTo(nameWidth, base);
    for (let x = nameWidth; x < right; ++x) {
      const y = base - (base - top) * count.mean(toTime(x), toTime(x + 1)) / Math.max(1, most);
      context.lineTo(x, y);
      context.lineTo(x + 1, y);
    }
    context.lineTo(right, base);
    if (fill) { context.fillStyle = style; context.fill(); } else { context.strokeStyle = style; context.lineWidth = 1.5; context.stroke(); }
  };
  context.fillStyle = colours.band;
  context.fillRect(nameWidth, top, width, base - top);
  areaOf(alive, alive.most, true, colours.alive);
  areaOf(busy, busy.processors, false, colours.busy);
  context.font = "10px sans-serif";
  context.textAlign = "right";
  context.fillStyle = colours.alive;
  context.fillRect(2, 10, 7, 7);
  context.fillStyle = colours.busy;
  context.fillRect(2, 33, 7, 7);
  context.fillStyle = colours.quiet;
  context.fillText(whole(alive.most), nameWidth - 4, 9);
  context.fillText("alive", nameWidth - 4, 20);
  context.fillText(whole(busy.processors), nameWidth - 4, 36);
  context.fillText("in use", nameWidth - 4, 47);
  context.textAlign = "left";

  // The ruler.
  const marks = ticks(), step = marks.length > 1 ? marks[1] - marks[0] : to - from;
  context.font = "11px sans-serif";
  graph.dataset.ruler = marks.map((tick) => Math.round(toX(tick)) + "|" + tickText(tick, step)).join(";");
  for (const tick of marks) {
    const x = Math.round(toX(tick));
    context.fillStyle = colours.quiet;
    context.fillRect(x, base, 1, 6);
    const text = tickText(tick, step), w = context.measureText(text).width;
    context.fillStyle = colours.text;
    context.fillText(text, Math.max(nameWidth, Math.min(width - w - 2, x - w / 2)), base + 15);
  }
  context.fillStyle = colours.quiet;
  context.fillRect(nameWidth, base, width, 1);
  if (chosen.range) {
    const a = Math.max(nameWidth, toX(chosen.range[0])), b = Math.min(width, toX(chosen.range[1]));
    if (b > a) {
      context.fillStyle = colours.range;
      context.fillRect(a, 0, b - a, base);
      context.fillStyle = colours.outline;
      context.fillRect(a, base, b - a, 3);
      const text = time(chosen.range[1] - chosen.range[0]), w = context.measureText(text).width;
      if (w + 8 < b - a) {
        context.fillStyle = colours.panel;
        context.fillRect((a + b - w) / 2 - 4, 1, w + 8, 15);
        context.fillStyle = colours.text;
        context.fillText(text, (a + b - w) / 2, 9);
      }
    }
  }
  if (pointerTime >= 0) {
    context.fillStyle = colours.quiet;
    context.fillRect(toX(pointerTime), 0, 1, base + 6);
  }
  const t = pointerTime >= 0 ? pointerTime : chosen.grid >= 0 ? begin[chosen.grid] : -1;
  byId("readout").textContent = t < 0 ? time(to - from) + " shown" :
    "at " + time(t) + ": " + whole(alive.at(t)) + " grids alive, " + whole(busy.at(t)) + " of " + whole(busy.processors) + " " + processorsName + " in use";
  graph.setAttribute("aria-label", "Over time: grids alive, " + whole(alive.most) + " at most, and " + processorsName +
    " in use, " + whole(busy.most) + " at most of " + whole(busy.processors));
}
followPointer(byId("graph"), () => chooseRange(), (event) => showTip(event, ""));
