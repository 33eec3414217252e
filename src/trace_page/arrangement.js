// ---- Which row a grid is drawn in: bands, one for each processor or depth, with as many lanes as it had grids at a time.
// Grids by begin. Where time and number fit into a double together, they are sorted as plain numbers: far faster.
const order = (function () {
  const factor = 2 ** Math.ceil(Math.log2(Math.max(2, count)));
  if (end * factor < 2 ** 53) {
    const keys = new Float64Array(count);
    for (let i = 0; i < count; ++i) keys[i] = begin[i] * factor + i;
    keys.sort();
    return Int32Array.from(keys, (key) => key % factor);
  }
  return Int32Array.from(begin.keys()).sort((a, b) => begin[a] - begin[b] || a - b);
})();

// A list of grids by begin, and for each place the latest end up to there: with it the first grid that reaches a given
// time is found by bisection, also where grids overlap.
function laneList(grids, ends) {
  const reach = new Float64Array(grids.length);
  let latest = 0;
  for (let k = 0; k < grids.length; ++k) reach[k] = latest = Math.max(latest, ends[grids[k]]);
  return { grids: grids, reach: reach };
}

// bandOf: the band's number, for grids that ran. Beyond `most` lanes grids share the last one. withTails: also until when
// what a grid has launched was still to end; tails overlap the next grids of a lane.
function arrange(bandOf, nameOfBand, most, withTails) {
  const found = new Map();
  const missed = { name: "lost", lost: true, lanes: [[]], ends: [], shared: false };
  for (const i of order) {
    if (trace.begun[i] < 0) { missed.lanes[0].push(i); continue; }
    const number = bandOf(i);
    let band = found.get(number);
    if (!band) found.set(number, band = { number: number, name: nameOfBand(number), lanes: [], ends: [], shared: false });
    let lane = band.ends.findIndex((busy) => busy <= begin[i]);
    if (lane < 0) {
      if (band.lanes.length < most) { lane = band.lanes.length; band.lanes.push([]); band.ends.push(0); }
      else { lane = most - 1; band.shared = true; }
    }
    band.ends[lane] = Math.max(band.ends[lane], finish[i]);
    band.lanes[lane].push(i);
  }
  const bands = Array.from(found.values()).sort((a, b) => a.number - b.number);
  // Launches that were lost ran nowhere: they have a band of their own.
  if (missed.lanes[0].length > 0) bands.unshift(missed);
  const lanes = [], laneOf = new Int32Array(count);
  for (const band of bands) {
    band.lanes = band.lanes.map((grids) => {
      grids = Int32Array.from(grids);
      for (const i of grids) laneOf[i] = lanes.length;
      const lane = { band: band, all: laneList(grids, finish), tails: withTails ? laneList(grids, complete) : null, matching: null, y: 0, height: 0 };
      lanes.push(lane);
      return lane;
    });
  }
  return { bands: bands, lanes: lanes, laneOf: laneOf, ends: withTails ? complete : finish, height: 0 };
}

const arrangements = {};
function arrangementFor(view) {
  if (!arrangements[view]) {
    arrangements[view] = view === "nesting" ?
      arrange((i) => trace.depth[i], (depth) => "depth " + depth, 24, true) :
      arrange((i) => trace.processor[i], processorName, 8, false);
    narrow(arrangements[view]);
  }
  return arrangements[view];
}
// The lanes' lists of grids that match.
function narrow(arrangement) {
  for (const lane of arrangement.lanes)
    lane.matching = chosen.matches === null ? null : laneList(lane.all.grids.filter((i) => chosen.matches[i] === 1), finish);
}
