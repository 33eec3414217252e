// ---- The head of the page, the chosen grid in words, the colours, the divider; then everything is drawn.
byId("title").textContent = "dynpar: " + trace.engine + " engine on " + trace.device;
byId("count-grids").textContent = whole(count - lost);
byId("count-kernels").textContent = whole(trace.kernels.length);
byId("deepest").textContent = deepest;
byId("count-lost").textContent = whole(lost);
byId("run-time").textContent = time(trace.nanoseconds);
byId("lost-button").disabled = lost === 0;
if (lost > 0) byId("lost-button").classList.add("warning");
if (trace.missing > 0) {
  byId("missing").className = "warning";
  byId("missing").textContent = whole(trace.missing) + " more grids were launched: no room for them in the trace";
}
if (trace.about && trace.about.length > 0) {
  for (const [name, text] of trace.about) byId("about").append(element("dt", "", name), element("dd", "", text));
  byId("about-button").hidden = false;
  byId("about-button").addEventListener("click", () => {
    byId("about").hidden = !byId("about").hidden;
    byId("about-button").setAttribute("aria-expanded", String(!byId("about").hidden));
  });
}

function showDetails(i) {
  const details = byId("details");
  details.replaceChildren();
  details.dataset.grid = i;
  details.title = i < 0 ? "" : describe(i);  // a window may be too narrow for the line
  if (i < 0) { details.append(element("small", "", "Click a grid in the timeline, the tree or a table to see it in all of them. Press ? for the keys.")); return; }
  const add = (text, className) => details.append(element("span", className || "", text));
  const [head, ...rest] = describe(i).split("\n");
  details.append(element("b", "", head + " "), " ");
  if (above(i) >= 0) details.append(button("link", trace.continues[i] >= 0 ? "go to what it continues" : "go to its parent", () => choose(above(i))));
  if (first[i] >= 0) details.append(button("link", "go to its first child", () => choose(first[i])));
  details.append(" ");
  for (const text of rest) add(text.replace(/ +/g, " "), text.startsWith("LOST") ? "lost" : "");
}
parts.push({ chosen: showDetails });
showDetails(-1);

// The colours: as the system has them, or as chosen here; that is kept where the browser lets a file keep anything.
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
function applyTheme() {
  const wanted = byId("theme").value || (systemDark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = wanted;
  readColours();
  redraw();
}
try { byId("theme").value = localStorage.getItem("dynpar-theme") || ""; } catch (error) { /* as the system has them */ }
byId("theme").addEventListener("change", () => {
  try { localStorage.setItem("dynpar-theme", byId("theme").value); } catch (error) { /* until the page is closed */ }
  applyTheme();
});
systemDark.addEventListener("change", applyTheme);

// The divider between the timeline and what is below it.
const divider = byId("divider");
let lowerPart = 36;
function setLower(percent) {
  lowerPart = Math.max(15, Math.min(75, percent));
  document.documentElement.style.setProperty("--lower", lowerPart + "vh");
  divider.setAttribute("aria-valuenow", Math.round(lowerPart));
}
setLower(lowerPart);
divider.addEventListener("pointerdown", (event) => divider.setPointerCapture(event.pointerId));
divider.addEventListener("pointermove", (event) => {
  if (divider.hasPointerCapture(event.pointerId)) setLower((1 - (event.clientY + 10) / window.innerHeight) * 100);
});
divider.addEventListener("keydown", (event) => {
  const step_ = event.key === "ArrowUp" ? 4 : event.key === "ArrowDown" ? -4 : 0;
  if (step_ === 0) return;
  setLower(lowerPart + step_);
  event.preventDefault();
});

applyTheme();
showRange();
nameTimeline();
layOut();
draw();
// The timeline follows the room that there is for it.
new ResizeObserver(layOut).observe(rows);
document.body.setAttribute("data-ready", "yes");
