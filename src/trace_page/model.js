// ---- The trace as it came, in typed arrays, and what follows from it. Times are nanoseconds, -1 is "none" and "never".
const byId = (id) => document.getElementById(id);
const trace = JSON.parse(byId("trace").textContent);
const count = trace.parent.length;
for (const name of ["parent", "continues", "kernel", "shape", "status"]) trace[name] = Int32Array.from(trace[name]);
for (const name of ["stream", "processor", "depth", "launched", "begun", "ended"]) trace[name] = Float64Array.from(trace[name]);

const whole = d3.format(",d");
function time(ns) {
  if (ns < 0) return "never";
  if (ns < 1e3) return Math.round(ns) + " ns";
  if (ns < 1e6) return (ns / 1e3).toPrecision(3) + " \u00b5s";
  if (ns < 1e9) return (ns / 1e6).toPrecision(3) + " ms";
  return (ns / 1e9).toFixed(2) + " s";
}
const ran = (i) => trace.status[i] === 0;
const duration = (i) => trace.begun[i] < 0 || trace.ended[i] < 0 ? -1 : Math.max(0, trace.ended[i] - trace.begun[i]);
const latency = (i) => trace.begun[i] < 0 ? -1 : Math.max(0, trace.begun[i] - trace.launched[i]);
// What the tree has it below: the grid that it continues, or else the one that launched it.
const above = (i) => trace.continues[i] >= 0 ? trace.continues[i] : trace.parent[i];
const nameOf = (i) => trace.kernels[trace.kernel[i]] + " " + trace.shapes[trace.shape[i]];
const processorKind = trace.engine === "host" ? "worker" : "SM";
const processorName = (p) => p < 0 ? "?" : processorKind + " " + p;

let lost = 0, deepest = 0, end = Math.max(1, trace.nanoseconds);
for (let i = 0; i < count; ++i) {
  if (!ran(i)) ++lost;
  else if (trace.depth[i] > deepest) deepest = trace.depth[i];
  end = Math.max(end, trace.ended[i], trace.begun[i], trace.launched[i]);
}

// Where a grid is in the timeline: a lost launch is a point, a grid that never returned lasts until the run's end.
const begin = new Float64Array(count), finish = new Float64Array(count);
// When everything that a grid has launched had ended too. A grid comes after the one that launched it.
const complete = new Float64Array(count);
const first = new Int32Array(count).fill(-1), next = new Int32Array(count).fill(-1);
const roots = [], orphans = [];
for (let i = count - 1; i >= 0; --i) {
  begin[i] = trace.begun[i] < 0 ? trace.launched[i] : trace.begun[i];
  finish[i] = trace.begun[i] < 0 ? begin[i] : trace.ended[i] < 0 ? end : Math.max(begin[i], trace.ended[i]);
  complete[i] = Math.max(complete[i], finish[i]);
  const parent = trace.parent[i];
  if (parent >= 0) complete[parent] = Math.max(complete[parent], complete[i]);
  const over = above(i);
  if (over >= 0) { next[i] = first[over]; first[over] = i; }
  else (trace.depth[i] === 0 ? roots : orphans).push(i);
}
roots.reverse(); orphans.reverse();

// A kernel has a hue, and the deeper a grid the lighter it is.
const colour = d3.scale.category10().domain(d3.range(Math.max(10, trace.kernels.length)));
const shades = new Map();
function shadeOf(i) {
  const key = trace.kernel[i] * 65536 + Math.min(trace.depth[i], 65535);
  let result = shades.get(key);
  if (!result) {
    const base = d3.hsl(colour(trace.kernel[i]));
    const light = 0.3 + 0.42 * (deepest > 0 ? Math.min(1, trace.depth[i] / deepest) : 0.25);
    const fill = d3.hsl(base.h, base.s, light).toString();
    const { r, g, b } = d3.rgb(fill);
    // Whichever of black and white is easier to read on it.
    result = { fill: fill, text: 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000" : "#fff" };
    shades.set(key, result);
  }
  return result;
}

// ---- What the reader has chosen. Each part of the page is told of a change: { chosen(i, origin), filtered(), ranged() }.
const chosen = { grid: -1, matches: null, matchCount: count, range: null };
const parts = [];
function tell(what, ...values) { for (const part of parts) if (part[what]) part[what](...values); }
// `origin` is the part in which it was chosen, which need not scroll to it.
function choose(i, origin) { chosen.grid = i; tell("chosen", i, origin); }
const matches = (i) => chosen.matches === null || chosen.matches[i] === 1;

// ---- For every part.
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}
function button(className, text, action) {
  const made = element("button", className, text);
  made.type = "button";
  made.addEventListener("click", (event) => { event.stopPropagation(); action(); });
  return made;
}
// The first place in ascending values that holds at least `least`.
function lowerBound(values, least, from = 0) {
  let to = values.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] < least) from = middle + 1; else to = middle;
  }
  return from;
}
const colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["panel", "text", "quiet", "line", "band", "other-band", "dim", "grid-line", "lost", "outline", "alive", "busy", "range"])
    colours[name] = style.getPropertyValue("--" + name).trim();
}
