"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)"), touch = matchMedia("(pointer: coarse)");
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const remembered = (name, usual) => { try { return JSON.parse(sessionStorage.getItem(name)) ?? usual; } catch { return usual; } };
  const remember = (name, value) => { try { sessionStorage.setItem(name, JSON.stringify(value)); } catch { /* then not */ } };
  const hidden = new Set(remembered("hidden", []));
  const key = (block, curve) => `${block}/${data[block].curves[curve].name}`;
  const drawn = new Set();
  let data = [];

  async function unpacked(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), letter => letter.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  function shaded(colour, share) {
    const [red, green, blue] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
    return `rgba(${red},${green},${blue},${share})`;
  }

  function traces(block, panel) {
    const found = [];
    for (const line of panel.lines) {
      const curve = data[block].curves[line.curve], colour = curve.colours[dark.matches ? "dark" : "light"];
      const one = { type: "scatter", mode: "lines", visible: !hidden.has(key(block, line.curve)), name: curve.name, meta: line.curve };
      for (const seed of line.seeds ?? [])
        found.push({ ...one, x: seed.x, y: seed.y, hoverinfo: "skip", line: { color: shaded(colour, 0.3), width: 0.8 } });
      if (line.low) {
        found.push({ ...one, x: line.x, y: line.low, hoverinfo: "skip", line: { width: 0 } });
        found.push({ ...one, x: line.x, y: line.high, hoverinfo: "skip", line: { width: 0 }, fill: "tonexty", fillcolor: shaded(colour, dark.matches ? 0.24 : 0.16) });
      }
    }
    for (const line of panel.lines) {
      const curve = data[block].curves[line.curve], colour = curve.colours[dark.matches ? "dark" : "light"];
      const lone = line.x.length < 2;
      found.push({
        type: "scatter", mode: lone ? "markers" : "lines", visible: !hidden.has(key(block, line.curve)), name: curve.name, meta: line.curve,
        x: line.x, y: line.y, line: { color: colour, width: 2, dash: curve.dash }, marker: { color: colour, size: 6 },
        customdata: line.low ? line.low.map((low, at) => [low, line.high[at]]) : undefined,
        hovertemplate: line.low ? "%{y:.4~r} <i>[%{customdata[0]:.4~r}, %{customdata[1]:.4~r}]</i>" : "%{y:.4~r}",
      });
    }
    return found;
  }

  function layout(block, panel) {
    const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name).trim();
    const axis = {
      gridcolor: colour("--line"), linecolor: colour("--line"), zeroline: false, automargin: true, ticks: "", nticks: 5,
      tickfont: { size: 11, color: colour("--soft") },
    };
    const end = Math.max(...data[block].panels.flatMap(each => each.lines.flatMap(line => [line, ...line.seeds ?? []].map(one => one.x.at(-1) ?? 0))));
    const random = panel.random === null ? {} : {
      shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: panel.random, y1: panel.random, layer: "below", line: { color: colour("--soft"), width: 1.2, dash: "4px,3px" } }],
      annotations: [{ xref: "paper", x: 1, y: panel.random, xanchor: "right", yanchor: "bottom", text: "a random agent", showarrow: false, font: { size: 10.5, color: colour("--soft") } }],
    };
    return {
      ...random, showlegend: false, uirevision: "same", margin: { l: 8, r: 18, t: 8, b: 8, pad: 4 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--ink") },
      dragmode: touch.matches ? false : "zoom", modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink") }, hovermode: touch.matches ? "closest" : "x unified",
      hoverlabel: { bgcolor: colour("--raised"), bordercolor: colour("--line"), font: { size: 12, color: colour("--ink") }, namelength: 28 },
      xaxis: { ...axis, showgrid: false, tickformat: "~s", hoverformat: ",.0f", range: [0, 1.005 * end], title: { text: "steps", standoff: 4, font: { size: 11, color: colour("--soft") } } },
      yaxis: { ...axis, ...(panel.column === "alpha" ? { range: [-0.04, 1.04], tickvals: [0, 0.25, 0.5, 0.75, 1], ticktext: ["0", "", "0.5", "", "1"] } : {}) },
    };
  }

  const CONFIG = { displaylogo: false, responsive: true, displayModeBar: touch.matches ? false : "hover", modeBarButtons: [["toImage", "resetScale2d"]] };

  function draw(place) {
    const block = Number(place.dataset.block), panel = data[block].panels[Number(place.dataset.panel)];
    const shown = layout(block, panel);
    for (const name of ["xaxis", "yaxis"]) {
      const before = place.layout?.[name];
      if (before && before.autorange === false && before.range) Object.assign(shown[name], { range: [...before.range], autorange: false });
    }
    Plotly.react(place, traces(block, panel), shown, CONFIG);
    if (drawn.has(place)) return;
    drawn.add(place);
    place.on("plotly_relayout", change => zoomed(place, change));
  }

  let following = false;
  function zoomed(place, change) {
    const range = "xaxis.range[0]" in change ? [change["xaxis.range[0]"], change["xaxis.range[1]"]] : change["xaxis.range"];
    if (following || !(range || "xaxis.autorange" in change)) return;
    const same = range ? { "xaxis.range": range } : { "xaxis.autorange": true };
    following = true;
    const others = [...drawn].filter(other => other !== place && other.dataset.block === place.dataset.block);
    Promise.all(others.map(other => Plotly.relayout(other, same))).finally(() => { following = false; });
  }

  const again = which => { for (const place of drawn) if (which === undefined || place.dataset.block === which) draw(place); };

  function legends() {
    for (const legend of all(".legend"))
      for (const button of all("button", legend)) {
        const name = key(Number(legend.dataset.block), Number(button.dataset.curve));
        button.setAttribute("aria-pressed", String(!hidden.has(name)));
        button.addEventListener("click", () => {
          hidden.has(name) ? hidden.delete(name) : hidden.add(name);
          button.setAttribute("aria-pressed", String(!hidden.has(name)));
          remember("hidden", [...hidden]);
          again(legend.dataset.block);
        });
      }
  }

  function films() {
    for (const button of all(".film")) {
      const image = button.querySelector("img"), still = image.src;
      button.addEventListener("click", () => {
        const plays = button.getAttribute("aria-pressed") !== "true";
        image.src = plays ? button.dataset.film : still;
        button.setAttribute("aria-pressed", String(plays));
      });
    }
  }

  function copying() {
    for (const button of all(".copy"))
      button.addEventListener("click", async () => {
        const code = button.previousElementSibling;
        try { await navigator.clipboard.writeText(code.textContent); button.textContent = "copied"; }
        catch { getSelection().selectAllChildren(code); button.textContent = "selected"; }
        setTimeout(() => { button.textContent = "copy"; }, 1500);
      });
  }

  function contents() {
    const folded = document.querySelector("nav details"), narrow = matchMedia("(max-width: 900px)");
    if (!folded) return;
    const fit = () => { folded.open = !narrow.matches; };
    fit();
    narrow.addEventListener("change", fit);
    const links = new Map(all("nav a").map(link => [link.getAttribute("href").slice(1), link]));
    const seen = new IntersectionObserver(entries => {
      for (const entry of entries) links.get(entry.target.id)?.classList.toggle("here", entry.isIntersecting);
    }, { rootMargin: "-20% 0px -70% 0px" });
    for (const id of links.keys()) if (document.getElementById(id)) seen.observe(document.getElementById(id));
  }

  function folds() {
    const opened = new Set(remembered("opened", []));
    all("main details").forEach((fold, at) => {
      const name = `${at}/${fold.firstElementChild.textContent}`;
      if (opened.has(name)) fold.open = true;
      fold.addEventListener("toggle", () => { fold.open ? opened.add(name) : opened.delete(name); remember("opened", [...opened]); });
    });
  }

  function live() {
    const seconds = Number(document.body.dataset.live), hold = document.getElementById("hold");
    if (!seconds || !hold) return;
    let held = remembered("held", false);
    const tell = () => { hold.textContent = held ? "go on" : "pause"; hold.setAttribute("aria-pressed", String(held)); };
    hold.addEventListener("click", () => { held = !held; remember("held", held); tell(); });
    tell();
    const playing = () => document.querySelector('.film[aria-pressed="true"]') || all("video").some(video => !video.paused);
    setInterval(() => { if (!held && !document.hidden && !playing()) location.reload(); }, 1000 * seconds);
  }

  async function plots() {
    const places = all(".plot");
    if (!places.length) return;
    try {
      const [text, library] = await Promise.all([unpacked("data"), unpacked("library")]);
      data = JSON.parse(text);
      const script = document.createElement("script");
      script.textContent = library;
      document.head.append(script);
    } catch (failure) {
      for (const place of places) place.innerHTML = '<p class="failure">This browser is too old to unpack the plots: a newer one shows them.</p>';
      return;
    }
    legends();
    const near = new IntersectionObserver(entries => {
      for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); draw(entry.target); }
    }, { rootMargin: "300px" });
    places.forEach(place => near.observe(place));
    dark.addEventListener("change", () => again());
    addEventListener("beforeprint", () => places.forEach(draw));
    document.documentElement.dataset.ready = "yes";
  }

  films(); copying(); contents(); folds(); live(); plots();
})();
