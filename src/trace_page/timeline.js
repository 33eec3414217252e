// ---- The timeline. Its canvas is as large as the room for it, and stays in place while the rows scroll beneath.
const nameWidth = 74;
const canvas = byId("timeline"), rows = byId("rows"), rowsContent = byId("rows-content");
const mostArrows = 2000;
const shortest = Math.min(end, 20);  // the shortest time that fills the width
let view = "processors";
let from = 0, to = end;   // the visible time
let width = 300, height = 100;
let waiting = false;
let pointerTime = -1;     // where the pointer is, on the timeline or the graph

const toX = (t) => nameWidth + (t - from) / (to - from) * (width - nameWidth);
const toTime = (x) => from + (x - nameWidth) / (width - nameWidth) * (to - from);

function showTime(a, b) {
  const span = Math.min(end, Math.max(shortest, b - a));
  from = Math.min(Math.max(0, (a + b) / 2 - span / 2), end - span);
  to = from + span;
  redraw();
}
function zoomBy(factor, at = (from + to) / 2) { showTime(at - (at - from) * factor, at + (to - at) * factor); }
function panBy(part) { const t = (to - from) * part; showTime(from + t, to + t); }
function scrollRows(pixels) { rows.scrollTop += pixels; }

// Rows as high as fit, within what can be read and what can be scrolled.
function placeRows() {
  const a = arrangementFor(view);
  const gap = a.lanes.length <= 150 ? 4 : 2;
  const room = (rows.clientHeight - 4 - a.bands.length * gap) / Math.max(1, a.lanes.length);
  const laneHeight = Math.max(view === "nesting" ? 6 : 4, Math.min(20, Math.floor(room)));
  let y = 2;
  for (const band of a.bands) {
    band.y = y;
    const each = band.lost ? Math.max(12, laneHeight) : laneHeight;
    for (const lane of band.lanes) { lane.y = y; lane.height = each; y += each; }
    band.height = y - band.y;
    y += gap;
  }
  a.height = y;
  rowsContent.style.height = Math.max(y, rows.clientHeight) + "px";
}

function fit(which, w, h) {
  const ratio = window.devicePixelRatio || 1;
  which.width = Math.round(w * ratio);
  which.height = Math.round(h * ratio);
  which.style.width = w + "px";
  which.style.height = h + "px";
}
function prepared(which, h) {
  const ratio = window.devicePixelRatio || 1;
  const context = which.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.panel;
  context.fillRect(0, 0, width, h);
  context.textBaseline = "middle";
  return context;
}
function layOut() {
  width = Math.max(160, rows.clientWidth);
  height = Math.max(40, rows.clientHeight);
  fit(canvas, width, height);
  fit(byId("graph"), width, 82);
  placeRows();
  redraw();
}

// What a bar of one pixel covers is not drawn: the next grid is the first that reaches beyond it.
function drawBars(context, list, starts, ends, top, barHeight, fillOf, withText) {
  const { grids, reach } = list;
  for (let at = lowerBound(reach, from); at < grids.length;) {
    const i = grids[at];
    if (starts[i] > to) break;
    const left = Math.max(nameWidth, toX(starts[i]));
    const right = Math.min(width, Math.max(left + 1, toX(ends[i])));
    context.fillStyle = fillOf(i);
    context.fillRect(left, top, right - left - (right - left > 3 ? 0.5 : 0), barHeight - (barHeight > 4 ? 1 : 0));
    if (withText && right - left > 50 && barHeight > 10) drawName(context, i, left, right, top, barHeight);
    at = right - left > 1.5 ? at + 1 : Math.max(at + 1, lowerBound(reach, toTime(left + 1), at + 1));
  }
}
function drawName(context, i, left, right, top, barHeight) {
  context.fillStyle = shadeOf(i).text;
  context.font = "11px sans-serif";
  const text = nameOf(i), most = Math.floor((right - left - 6) / 6);
  context.fillText(text.length <= most ? text : text.slice(0, most - 1) + "\u2026", left + 3, top + barHeight / 2);
}

function drawLane(context, lane, top) {
  const dimOf = (i) => colours.dim, fillOf = (i) => shadeOf(i).fill;
  if (lane.band.lost) {
    // At least three pixels each: nobody shall miss one.
    const draw = (list, style) => {
      for (let at = lowerBound(list.reach, from); at < list.grids.length;) {
        const t = begin[list.grids[at]];
        if (t > to) break;
        context.fillStyle = style;
        context.fillRect(toX(t) - 1.5, top, 3, lane.height - 1);
        at = Math.max(at + 1, lowerBound(list.reach, toTime(toX(t) + 1), at + 1));
      }
    };
    draw(lane.all, lane.matching ? colours.dim : colours.lost);
    if (lane.matching) draw(lane.matching, colours.lost);
    return;
  }
  if (lane.tails) {
    context.globalAlpha = 0.28;
    drawBars(context, lane.tails, begin, complete, top, lane.height, lane.matching ? dimOf : fillOf, false);
    context.globalAlpha = 1;
  }
  drawBars(context, lane.all, begin, finish, top, lane.height, lane.matching ? dimOf : fillOf, !lane.matching);
  if (lane.matching) drawBars(context, lane.matching, begin, finish, top, lane.height, fillOf, true);
}

// Where a grid's bar is on the canvas.
function boxOf(i) {
  const a = arrangementFor(view), lane = a.lanes[a.laneOf[i]], top = lane.y - rows.scrollTop;
  const left = toX(begin[i]);
  return { x: left, y: top, width: Math.max(1, toX(finish[i]) - left), height: lane.height };
}

// From where a grid was launched, in its parent's row, to its begin.
function drawArrow(context, i) {
  const source = above(i);
  if (source < 0) return false;
  const start = toX(trace.launched[i]), stop = toX(begin[i]);
  if (Math.max(start, stop) < nameWidth || Math.min(start, stop) > width) return false;
  const a = boxOf(source), b = boxOf(i);
  if (Math.max(a.y, b.y) < -20 || Math.min(a.y, b.y) > height + 20) return false;
  const down = b.y >= a.y;
  const y0 = down ? a.y + a.height - 1 : a.y, y1 = b.y + (down ? 0 : b.height);
  const bend = Math.max(8, Math.abs(y1 - y0) / 2) * (down ? 1 : -1);
  context.setLineDash(trace.continues[i] >= 0 ? [4, 3] : []);
  context.beginPath();
  context.moveTo(start, y0);
  context.bezierCurveTo(start, y0 + bend, stop, y1 - bend, stop, y1);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(stop, y1);
  context.lineTo(stop - 3.5, y1 - (down ? 6 : -6));
  context.lineTo(stop + 3.5, y1 - (down ? 6 : -6));
  context.fill();
  return true;
}
function drawArrows(context) {
  let drawn = 0;
  const i = chosen.grid;
  if (byId("all-arrows").checked) {
    context.strokeStyle = context.fillStyle = colours.quiet;
    context.lineWidth = 0.8;
    for (const g of order) {
      if (begin[g] > to && trace.launched[g] > to || begin[g] < from && trace.launched[g] < from || !matches(g)) continue;
      if (drawArrow(context, g) && ++drawn === mostArrows) break;
    }
  }
  if (i >= 0) {
    context.strokeStyle = context.fillStyle = colours.outline;
    context.lineWidth = 1.5;
    if (drawArrow(context, i)) ++drawn;
    let children = 0;
    for (let c = first[i]; c >= 0 && children < mostArrows; c = next[c], ++children) if (drawArrow(context, c)) ++drawn;
  }
  canvas.dataset.arrows = drawn;
}

function draw() {
  waiting = false;
  const a = arrangementFor(view), context = prepared(canvas, height), scrolled = rows.scrollTop;
  context.save();
  context.beginPath();
  context.rect(nameWidth, 0, width - nameWidth, height);
  context.clip();
  a.bands.forEach((band, b) => {
    if (band.y + band.height < scrolled || band.y > scrolled + height) return;
    context.fillStyle = b % 2 ? colours.band : colours["other-band"];
    context.fillRect(nameWidth, band.y - 1 - scrolled, width, band.height + 2);
    for (const lane of band.lanes)
      if (lane.y + lane.height >= scrolled && lane.y <= scrolled + height) drawLane(context, lane, lane.y - scrolled);
  });
  context.fillStyle = colours["grid-line"];
  for (const tick of ticks()) context.fillRect(Math.round(toX(tick)), 0, 1, height);
  drawArrows(context);
  if (chosen.range) {
    const x = toX(chosen.range[0]), w = toX(chosen.range[1]) - x;
    context.fillStyle = colours.range;
    context.fillRect(x, 0, w, height);
    context.fillStyle = colours.outline;
    context.fillRect(x - 0.5, 0, 1, height);
    context.fillRect(x + w - 0.5, 0, 1, height);
  }
  if (pointerTime >= 0) {
    context.fillStyle = colours.quiet;
    context.fillRect(toX(pointerTime), 0, 1, height);
  }
  if (chosen.grid >= 0) {
    const box = boxOf(chosen.grid);
    context.strokeStyle = colours.outline;
    if (!trace.status[chosen.grid] && trace.begun[chosen.grid] >= 0) {
      // Until when something that it has launched was still to end.
      context.lineWidth = 1;
      context.setLineDash([3, 3]);
      context.strokeRect(box.x, box.y - 0.5, Math.max(1, toX(complete[chosen.grid]) - box.x), box.height);
      context.setLineDash([]);
    }
    context.lineWidth = 2;
    context.strokeRect(box.x - 2, box.y - 2, box.width + 4, box.height + 3);
    canvas.dataset.box = [box.x + box.width / 2, box.y + box.height / 2].map(Math.round).join(" ");
  } else delete canvas.dataset.box;
  context.restore();
  // Names of bands, as many as there is room for.
  context.font = "11px monospace";
  context.textAlign = "right";
  let named = -100;
  for (const band of a.bands) {
    const y = band.y + (view === "nesting" ? Math.min(band.height, 14) : band.lanes[0].height) / 2 - scrolled;
    if (y - named < 12 && !band.lost || y < -6 || y > height + 6) continue;
    named = y;
    context.fillStyle = band.lost ? colours.lost : colours.quiet;
    context.fillText(band.name + (band.shared ? " \u2026" : ""), nameWidth - 6, y, nameWidth - 8);
  }
  context.textAlign = "left";
  drawGraph();
  canvas.dataset.from = from;
  canvas.dataset.to = to;
  canvas.dataset.chosen = chosen.grid;
}
function redraw() { if (!waiting) { waiting = true; requestAnimationFrame(draw); } }

// What is drawn at a point of the canvas, or -1.
function gridAt(x, y) {
  if (x < nameWidth) return -1;
  const a = arrangementFor(view), t = toTime(x), row = y + rows.scrollTop;
  const lane = a.lanes.find((l) => row >= l.y && row < l.y + l.height);
  if (!lane) return -1;
  const slack = (lane.band.lost ? 3 : 1) * (to - from) / (width - nameWidth);
  const lists = lane.matching ? [lane.matching, lane.all] : [lane.all];
  for (const ends of [finish, a.ends]) for (const list of lists) {
    // The last that has begun; where grids share a lane, one before it may be what is seen.
    let low = 0, high = list.grids.length;
    while (low < high) { const middle = (low + high) >>> 1; if (begin[list.grids[middle]] <= t + slack) low = middle + 1; else high = middle; }
    for (let k = low - 1; k >= 0 && k > low - 200; --k) if (ends[list.grids[k]] + slack >= t) return list.grids[k];
  }
  return -1;
}

function describe(i) {
  const source = above(i);
  return "grid " + i + ": " + nameOf(i) + (ran(i) ? "" : "\nLOST: " + trace.statuses[trace.status[i]]) +
    "\ndepth " + trace.depth[i] + (trace.begun[i] >= 0 ? ", " + processorName(trace.processor[i]) : "") +
    (trace.stream[i] >= 0 ? ", stream " + trace.stream[i] : "") +
    (source >= 0 ? "\n" + (trace.continues[i] >= 0 ? "continues grid " : "launched by grid ") + source :
      trace.depth[i] > 0 ? "\nlaunched by a grid that is not in the trace" : "\nlaunched by the host") +
    "\nlaunched " + time(trace.launched[i]) +
    (trace.begun[i] < 0 ? "" : "\nbegan    " + time(trace.begun[i]) + " (" + time(latency(i)) + " later)") +
    (duration(i) < 0 ? "" : "\ntook     " + time(duration(i))) +
    (first[i] >= 0 ? "\ncomplete " + time(complete[i]) : "");
}
function showTip(event, text) {
  const tip = byId("tip");
  tip.style.display = text ? "block" : "none";
  tip.textContent = text;
  if (!text) return;
  tip.style.left = Math.max(0, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 6)) + "px";
  tip.style.top = (event.clientY + 14 + tip.offsetHeight > window.innerHeight ? event.clientY - 10 - tip.offsetHeight : event.clientY + 14) + "px";
}

// Dragging selects a range, with Shift or the middle button it moves; a click chooses a grid.
function followPointer(which, click, hover) {
  let drag = null;
  const place = (event) => { const box = which.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const inside = (t) => Math.max(0, Math.min(end, t));
  which.addEventListener("pointerdown", (event) => {
    if (event.button > 1) return;
    const [x, y] = place(event);
    drag = { x: x, y: y, t: inside(toTime(x)), moves: event.shiftKey || event.button === 1, far: false, from: from, scrolled: rows.scrollTop };
    which.setPointerCapture(event.pointerId);
    if (event.button === 1) event.preventDefault();
  });
  which.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    pointerTime = x < nameWidth ? -1 : inside(toTime(x));
    if (drag && (drag.far || Math.abs(x - drag.x) > 3 || drag.moves && Math.abs(y - drag.y) > 3)) {
      drag.far = true;
      showTip(event, "");
      if (drag.moves) {
        const t = drag.from - (x - drag.x) / (width - nameWidth) * (to - from);
        showTime(t, t + to - from);
        rows.scrollTop = drag.scrolled - (y - drag.y);
      } else {
        const t = inside(toTime(x));
        chooseRange(Math.min(drag.t, t), Math.max(drag.t, t));
      }
    } else hover(event, x, y);
    redraw();
  });
  which.addEventListener("pointerup", (event) => {
    if (drag && !drag.far && !drag.moves) click(...place(event));
    drag = null;
  });
  which.addEventListener("pointercancel", () => { drag = null; });
  which.addEventListener("pointerleave", (event) => { pointerTime = -1; showTip(event, ""); redraw(); });
  which.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.ctrlKey || event.metaKey) zoomBy(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), toTime(place(event)[0]));
    else if (Math.abs(sideways) > 0 && (event.shiftKey || Math.abs(sideways) > Math.abs(event.deltaY))) panBy(sideways / 1000);
    else return;
    event.preventDefault();
  }, { passive: false });
}
followPointer(canvas, (x, y) => {
  const i = gridAt(x, y);
  if (i < 0) chooseRange();
  choose(i, "timeline");
}, (event, x, y) => {
  const i = gridAt(x, y);
  showTip(event, i < 0 ? "" : describe(i));
});
canvas.addEventListener("dblclick", () => { if (chosen.grid >= 0) zoomToChosen(); });
rows.addEventListener("scroll", redraw);

function zoomToChosen() {
  const i = chosen.grid;
  if (i < 0) return;
  const span = Math.max(shortest, finish[i] - begin[i]);
  showTime(begin[i] - span / 2, begin[i] + span * 1.5);
}
function setView(to_) {
  view = to_;
  byId("view").value = view;
  placeRows();
  nameTimeline();
  if (chosen.grid >= 0) bringIntoView(chosen.grid);
  redraw();
}
byId("view").addEventListener("change", (event) => setView(event.target.value));
byId("all-arrows").addEventListener("change", redraw);
byId("zoom-in").addEventListener("click", () => zoomBy(0.5));
byId("zoom-out").addEventListener("click", () => zoomBy(2));
byId("zoom-all").addEventListener("click", () => showTime(0, end));

function bringIntoView(i) {
  const a = arrangementFor(view), lane = a.lanes[a.laneOf[i]];
  if (lane.y < rows.scrollTop || lane.y + lane.height > rows.scrollTop + height)
    rows.scrollTop = lane.y - height / 2;
  if (finish[i] < from || begin[i] > to) showTime(begin[i] - (to - from) / 2, begin[i] + (to - from) / 2);
}
function nameTimeline() {
  const a = arrangementFor(view), bands = a.bands.filter((band) => !band.lost).length;
  const kind = view === "nesting" ? "nesting depths" : trace.engine === "host" ? "workers" : "multiprocessors";
  const note = whole(order.length - lost) + " grids on " + whole(bands) + " " + kind +
    (view === "nesting" ? "; pale until everything launched from a grid has ended" : "") +
    (a.bands.some((band) => band.shared) ? "; \u2026: more grids at a time than lanes" : "") +
    (trace.clockError > 0 ? "; device times against host times: within " + time(trace.clockError) : "");
  byId("timeline-note").textContent = note;
  canvas.setAttribute("aria-label", "Timeline, rows by " + (view === "nesting" ? "nesting depth" : "processor") +
    ". Arrow keys go from grid to grid, w a s d zoom and move, ? shows all keys");
  canvas.dataset.rows = a.lanes.length;
}
parts.push({
  chosen(i, origin) { if (i >= 0 && origin !== "timeline") bringIntoView(i); redraw(); },
  filtered() { Object.values(arrangements).forEach(narrow); redraw(); },
  ranged: redraw,
});
trace.kernels.slice(0, 100).forEach((kernel, k) => {
  const entry = element("span");
  entry.append(element("span", "swatch"), kernel);
  entry.firstChild.style.background = colour(k);
  byId("legend").append(entry);
});
