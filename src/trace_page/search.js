// ---- Search and filter: what matches stays in colour, everywhere.
const fields = { text: byId("search-text"), from: byId("search-from"), to: byId("search-to"), status: byId("search-status"), shape: byId("search-shape") };
function addOption(select, value, text) { const option = element("option", "", text); option.value = value; select.append(option); }
addOption(fields.status, "", "any");
addOption(fields.status, "lost", "lost");
(function () {
  const seen = new Set(trace.status);
  trace.statuses.forEach((name, s) => { if (seen.has(s)) addOption(fields.status, s, name); });
  addOption(fields.shape, "", "any");
  trace.shapes.forEach((name, s) => addOption(fields.shape, s, name));
})();
let wantedKernel = null;  // a whole name, from a row of the table; a part of a name is enough in the field

function filter() {
  const text = fields.text.value.trim().toLowerCase(), exact = wantedKernel !== null && wantedKernel === fields.text.value;
  const isGrid = /^\d+$/.test(text);
  const kernelMatches = Uint8Array.from(trace.kernels, (name) => exact ? name === wantedKernel : name.toLowerCase().includes(text));
  const from_ = fields.from.value === "" ? 0 : Number(fields.from.value), to_ = fields.to.value === "" ? Infinity : Number(fields.to.value);
  const status = fields.status.value, shape = fields.shape.value;
  const none = text === "" && from_ === 0 && to_ === Infinity && status === "" && shape === "";
  chosen.matches = none ? null : new Uint8Array(count);
  chosen.matchCount = count;
  if (!none) {
    chosen.matchCount = 0;
    for (let i = 0; i < count; ++i) {
      if ((isGrid ? i === Number(text) || kernelMatches[trace.kernel[i]] : kernelMatches[trace.kernel[i]]) &&
          trace.depth[i] >= from_ && trace.depth[i] <= to_ &&
          (status === "" || (status === "lost" ? !ran(i) : trace.status[i] === Number(status))) &&
          (shape === "" || trace.shape[i] === Number(shape))) {
        chosen.matches[i] = 1;
        ++chosen.matchCount;
      }
    }
  }
  byId("match-count").textContent = none ? "" : whole(chosen.matchCount) + " of " + whole(count) + " match";
  byId("clear").disabled = none;
  byId("next").disabled = byId("previous").disabled = chosen.matchCount === 0;
  fields.text.dataset.filtered = fields.text.value;  // for tests: typing is filtered a moment later
  tell("filtered");
}
function clearFilter() {
  for (const field of Object.values(fields)) field.value = "";
  filter();
}
// From a row of the table; a second time, every grid again.
function filterFor(kernel, depth) {
  const again = wantedKernel === kernel && fields.text.value === kernel && fields.from.value === String(depth) && fields.to.value === String(depth);
  for (const field of Object.values(fields)) field.value = "";
  if (!again) {
    fields.text.value = wantedKernel = kernel;
    fields.from.value = fields.to.value = depth;
  }
  filter();
}
// The next grid for which `wanted` holds, in the order of launches; after the last comes the first.
function step(direction, wanted) {
  const start = chosen.grid >= 0 ? chosen.grid : direction > 0 ? -1 : count;
  for (let k = 1; k <= count; ++k) {
    const i = ((start + direction * k) % count + count) % count;
    if (wanted(i)) { choose(i, "search"); return; }
  }
}
let typing = 0;
fields.text.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(filter, count > 100000 ? 200 : 30); });
for (const name of ["from", "to", "status", "shape"]) fields[name].addEventListener("input", filter);
byId("search").addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(typing); filter(); step(1, matches); });
fields.text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); clearTimeout(typing); filter(); step(-1, matches); }
});
byId("previous").addEventListener("click", () => step(-1, matches));
byId("clear").addEventListener("click", clearFilter);
byId("lost-button").addEventListener("click", () => step(1, (i) => !ran(i)));
byId("clear").disabled = true;
