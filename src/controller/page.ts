/** The page of a controller: what `/status` says as a drawing and tables, `/events` as a log, and buttons for who has the token. */
export const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gradplane controller</title>
<style>
  :root { --ok: #176f2c; --bad: #b3261e; --wait: #8a6100; --line: #d8dbe0; }
  body { font: 14px/1.5 system-ui, sans-serif; margin: 0; color: #1b1d21; background: #f4f5f7; }
  header { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: center; padding: 0.8rem 1.5rem; background: #fff; border-bottom: 1px solid var(--line); }
  h1 { font-size: 1.1rem; margin: 0; } h2 { font-size: 1rem; margin: 0 0 0.5rem; }
  main { display: grid; gap: 1rem; padding: 1rem 1.5rem; max-width: 90rem; margin: auto; }
  section { background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: 0.9rem 1rem; overflow-x: auto; }
  table { border-collapse: collapse; width: 100%; }
  td, th { padding: 0.25rem 0.8rem 0.25rem 0; text-align: left; border-bottom: 1px solid #eceef1; white-space: nowrap; }
  td.reason { white-space: normal; }
  td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
  .ready, .up, .present { color: var(--ok); } .lost, .deposed, .down, .dead { color: var(--bad); } .connecting, .awaited, .unknown, .left { color: var(--wait); }
  svg { display: block; width: 100%; max-height: 26rem; }
  svg text { font: 12px system-ui, sans-serif; text-anchor: middle; }
  svg .switch rect { fill: #fff; stroke: #7b8087; stroke-width: 1.5; }
  svg .switch.ready rect { stroke: var(--ok); fill: #eef7f0; } svg .switch.lost rect, svg .switch.deposed rect { stroke: var(--bad); fill: #fdeeed; }
  svg .switch.connecting rect { stroke: var(--wait); fill: #fdf6e3; } svg .switch.drained rect { stroke-dasharray: 4 3; }
  svg line { stroke: #b9bec5; stroke-width: 1.5; } svg line.up { stroke: var(--ok); } svg line.down { stroke: var(--bad); stroke-width: 2.5; stroke-dasharray: 5 4; }
  svg .host { fill: #55595f; }
  #log { font: 12px/1.6 ui-monospace, monospace; max-height: 18rem; overflow: auto; }
  #log time { color: #767b82; margin-right: 0.8rem; }
  button { font: inherit; padding: 0 0.6rem; } .empty { color: #767b82; margin: 0; }
</style>
<header>
  <h1>gradplane controller</h1>
  <span id="summary" role="status"></span>
  <form onsubmit="return false"><label>Token for changes <input id="token" type="password" autocomplete="off" size="12"></label></form>
  <span id="answer" role="alert"></span>
</header>
<main>
  <section><h2>Network</h2><svg id="network" role="img" aria-label="switches, hosts and links"></svg></section>
  <section><h2>Switches</h2><table><thead><tr><th>switch<th>address<th>state<th class="number">entries<th class="number">written<th class="number">of others<th></tr></thead><tbody id="switches"></tbody></table></section>
  <section><h2>Jobs</h2><p id="nojobs" class="empty">No job runs.</p><table id="jobtable" hidden><thead><tr><th>job<th>sums are made by<th>slots<th class="number">generation<th class="number">round<th class="number">rounds per second<th>hosts</tr></thead><tbody id="jobs"></tbody></table></section>
  <section><h2>Events</h2><div id="log" role="log"><p class="empty">Nothing has happened yet.</p></div></section>
</main>
<script>
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const cell = (row, text, kind) => { const td = row.insertCell(); td.textContent = text; if (kind) td.className = kind; return td; };
  const token = byId("token");
  async function change(what, name) {
    const response = await fetch("/" + what + "/" + encodeURIComponent(name), { method: "POST", headers: { authorization: "Bearer " + token.value } });
    byId("answer").textContent = (response.ok ? name + ": " : "") + (await response.text()).trim();
    show();
  }
  const draw = (parent, kind, attributes, text) => {
    const node = document.createElementNS(SVG, kind);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };
  /** Switches in rows by their distance from hosts, hosts below. */
  function rowsOf({ switches, hosts, links }) {
    const distance = new Map(hosts.flatMap((h) => h.attachments.map((a) => [a.switch, 0])));
    if (distance.size === 0 && switches.length > 0) distance.set(switches[0].name, 0);
    for (let changed = true; changed; ) {
      changed = false;
      for (const { ends: [a, b] } of links)
        for (const [x, y] of [[a.switch, b.switch], [b.switch, a.switch]])
          if (distance.has(x) && (distance.get(y) ?? Infinity) > distance.get(x) + 1) { distance.set(y, distance.get(x) + 1); changed = true; }
    }
    const most = Math.max(0, ...distance.values());
    const rows = Array.from({ length: most + 1 }, () => []);
    for (const s of switches) rows[most - (distance.get(s.name) ?? most)].push(s);
    return rows;
  }
  function drawNetwork(status) {
    const svg = byId("network");
    const rows = rowsOf(status);
    const widest = Math.max(...rows.map((row) => row.length), status.hosts.length / 2, 1);
    const width = Math.max(640, widest * 96), height = rows.length * 92 + 60;
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    const all = document.createDocumentFragment();
    const at = new Map();
    rows.forEach((row, r) => row.forEach((s, i) => at.set(s.name, [((i + 0.5) * width) / row.length, 40 + r * 92])));
    const places = [...status.hosts].sort((a, b) => (at.get(a.attachments[0]?.switch)?.[0] ?? 0) - (at.get(b.attachments[0]?.switch)?.[0] ?? 0));
    places.forEach((h, i) => at.set(h.name, [((i + 0.5) * width) / places.length, 40 + rows.length * 92 - 20]));
    const line = (a, b, kind, title) => {
      if (!at.has(a) || !at.has(b)) return;
      const [[x1, y1], [x2, y2]] = [at.get(a), at.get(b)];
      draw(draw(all, "line", { x1, y1, x2, y2, class: kind }), "title", {}, title);
    };
    for (const l of status.links) line(l.ends[0].switch, l.ends[1].switch, l.state, l.name + ": " + l.state);
    for (const h of status.hosts) for (const a of h.attachments) line(a.switch, h.name, "", a.switch + ":" + a.port + " - " + h.name);
    for (const s of status.switches) {
      const [x, y] = at.get(s.name);
      const g = draw(all, "g", { class: "switch " + s.state.kind + (s.isDrained ? " drained" : "") });
      draw(g, "rect", { x: x - 40, y: y - 19, width: 80, height: 38, rx: 5 });
      draw(g, "text", { x, y: y - 2 }, s.name);
      draw(g, "text", { x, y: y + 13 }, s.isDrained ? "drained" : s.state.kind);
      draw(g, "title", {}, s.name + " " + s.target + ": " + (s.state.reason ?? s.state.kind));
    }
    for (const h of status.hosts) {
      const [x, y] = at.get(h.name);
      draw(all, "circle", { cx: x, cy: y, r: 4, class: "host" });
      draw(all, "text", { x, y: y + 18 }, h.name);
    }
    svg.replaceChildren(all);
  }
  function showSwitches({ switches }) {
    const rows = document.createDocumentFragment();
    for (const s of switches) {
      const row = document.createElement("tr");
      cell(row, s.name); cell(row, s.target);
      cell(row, s.state.kind + (s.isDrained ? ", drained" : "") + (s.state.reason ? ": " + s.state.reason : ""), s.state.kind + " reason");
      cell(row, s.state.entries ?? "", "number"); cell(row, s.updates, "number"); cell(row, s.drift, "number");
      const button = document.createElement("button");
      button.textContent = s.isDrained ? "restore" : "drain";
      button.disabled = token.value === "";
      button.title = token.value === "" ? "The token is needed for that" : "";
      button.onclick = () => change(button.textContent, s.name);
      cell(row, "").append(button);
      rows.append(row);
    }
    byId("switches").replaceChildren(rows);
  }
  function showJobs({ jobs, slots }) {
    byId("nojobs").hidden = jobs.length > 0;
    byId("jobtable").hidden = jobs.length === 0;
    const rows = document.createDocumentFragment();
    for (const j of jobs) {
      const row = document.createElement("tr");
      cell(row, j.name); cell(row, j.on ?? "its parameter server");
      cell(row, j.on === undefined ? "none" : j.slotBase + " to " + (j.slotBase + j.rows - 1) + " of " + slots);
      cell(row, j.generation, "number"); cell(row, j.openRound, "number");
      cell(row, j.roundsPerSecond === undefined ? "" : j.roundsPerSecond.toFixed(1), "number");
      const hosts = cell(row, "");
      j.members.forEach((m) => { const span = document.createElement("span"); span.className = m.state; span.textContent = m.host + (m.state === "present" ? " " : " (" + m.state + ") "); hosts.append(span); });
      rows.append(row);
    }
    byId("jobs").replaceChildren(rows);
  }
  let latest;
  function render() {
    if (latest === undefined) return;
    const { switches, links, jobs } = latest;
    const count = (list, is) => list.filter(is).length;
    byId("summary").textContent = count(switches, (s) => s.state.kind === "ready") + " of " + switches.length + " switches ready, "
      + count(links, (l) => l.state === "down") + " of " + links.length + " links down"
      + (links.some((l) => l.state === "unknown") ? " (" + count(links, (l) => l.state === "unknown") + " not known), " : ", ") + jobs.length + (jobs.length === 1 ? " job" : " jobs");
    drawNetwork(latest); showSwitches(latest); showJobs(latest);
  }
  let asking = false, again = false;
  async function show() {
    if (asking) { again = true; return; }
    asking = true;
    try { latest = await (await fetch("/status")).json(); render(); byId("summary").className = ""; }
    catch { byId("summary").textContent = "The controller does not answer."; byId("summary").className = "lost"; }
    asking = false;
    if (again) { again = false; show(); }
  }
  token.oninput = render;
  const words = (n) => {
    switch (n.kind) {
      case "switch": return n.name + " is " + n.state + (n.reason ? ": " + n.reason : "");
      case "written": return n.name + (n.pushed ? ": program loaded, " : ": ") + n.updates + " updates written";
      case "drift": return n.name + ": " + n.entities + " entities of somebody else" + (n.undone ? ", deleted" : "");
      case "failed": return n.name + " could not be repaired: " + n.reason;
      case "drained": case "restored": return n.name + " is " + n.kind;
      case "link": return "link " + n.link + " is " + n.state + (n.from ? ": probes of " + n.from + " are lost" : "");
      case "miswired": return "link " + n.link + ": probes of " + n.from + " arrive at " + n.at;
      case "placed": return "job " + (latest?.jobs.find((j) => j.number === n.placement.job)?.name ?? n.placement.job) + ", generation " + n.placement.generation + ": sums are made by " + (n.placement.on ?? "its parameter server");
      case "member": return "job " + n.job + ": " + n.member.host + " is " + n.member.state;
      case "ended": return "job " + n.job + " is over: " + n.reason;
      default: return JSON.stringify(n);
    }
  };
  new EventSource("/events").onmessage = ({ data }) => {
    const { time, ...notice } = JSON.parse(data);
    const line = document.createElement("div");
    const when = document.createElement("time");
    when.textContent = new Date(time).toLocaleTimeString("en-GB");
    line.append(when, words(notice));
    byId("log").querySelector(".empty")?.remove();
    byId("log").prepend(line);
    while (byId("log").childElementCount > 500) byId("log").lastElementChild.remove();
    show();
  };
  setInterval(show, 2000);
  show();
</script>
</html>
`;
