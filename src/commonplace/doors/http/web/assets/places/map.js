// Map: the memories by what they say. What lies close says something alike; each island has the words that are said there.

import { useChanges, useChoice, useData } from "/assets/data.js";
import { MemoryCard } from "/assets/memories.js";
import { alike, bridges, draw, FINGER, fitted, moved, placed, pointAt, radius, zoomed } from "/assets/plane.js";
import { Link, memoryAddress, useQuery } from "/assets/router.js";
import { Button, Check, Chip, Empty, Input, Loaded, Page } from "/assets/ui.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "/assets/vendor.js";
import { count, dayOf, memories, number, tone } from "/assets/words.js";

export const sheet = "/assets/places/map.css";

export default function Map_() {
  const map = useData("/map", {}, { on: false }), [stale, setStale] = useState(false);
  useChanges(() => setStale(true));
  const waiting = map.data?.waiting || 0;
  // Those that are not placed yet are compared in the background, which takes a moment.
  useEffect(() => { if (!waiting) return undefined; const timer = setTimeout(map.refresh, 1500); return () => clearTimeout(timer); }, [map.data]);
  const anew = () => { setStale(false); map.refresh(); };
  if (!map.data) return html`<${Page} title="Map"><${Loaded} of=${map} cards=${1} lines=${8} /></${Page}>`;
  return html`<${Loaded} of=${map}>${(data) => html`<${Drawn} data=${data} anew=${stale && anew} />`}</${Loaded}>`;
}

function lead({ points, count: all, waiting }) {
  const shown = points.length === all ? memories(all) : points.length + waiting === all ? `${number(points.length)} of ${memories(all)}` : `${number(points.length)} of ${memories(all)}, the newest`;
  return `${shown}. What is alike lies close together.${waiting ? ` ${number(waiting)} are being compared and appear by themselves.` : ""}`;
}

const fits = (point, words, kind) => (!kind || point.kind === kind) && words.every((word) => `${point.text} ${point.tags.join(" ")}`.toLowerCase().includes(word));

function Drawn({ data, anew }) {
  const [query, setQuery] = useQuery(), [lines, setLines] = useChoice("map-lines", { replaced: true, tags: false });
  const { points, groups, byId } = useMemo(() => {
    const at = new Map();
    data.groups.forEach((group, number_) => { for (const id of group.ids) at.set(id, number_); });
    const made = data.points.map((each) => ({ ...each, tone: tone(each.kind), group: at.get(each.id) }));
    return { points: made, groups: data.groups, byId: new Map(made.map((each) => [each.id, each])) };
  }, [data]);
  const words = query.words.toLowerCase().split(/\s+/).filter(Boolean), kind = query.kind, chosen = byId.get(query.at) || null;
  const found = useMemo(() => points.filter((point) => fits(point, words, kind)), [points, query.words, kind]);
  const replaced = useMemo(() => data.replaced.map(([old, now]) => [byId.get(old), byId.get(now)]).filter(([old, now]) => old && now), [data]);
  const bridged = useMemo(() => (lines.tags ? bridges(points) : []), [points, lines.tags]);
  if (!points.length && !data.waiting) return html`<${Page} title="Map"><${Empty} icon="map" title="No map yet" actions=${html`<${Link} class="button primary" to="/memory">Remember something</${Link}>`}>Each memory becomes a point; what is alike lies close together.</${Empty}></${Page}>`;
  const tagged = lines.tags ? (chosen ? alike(chosen, points) : bridged) : [];
  const kinds = Object.entries(Object.groupBy(points, (point) => point.kind)).sort(([, one], [, other]) => other.length - one.length);
  const isNarrowed = found.length < points.length;
  return html`<${Page} title="Map" wide class="map-place" lead=${lead(data)} actions=${anew && html`<${Button} icon="replace" onClick=${anew}>Memories changed: draw it anew</${Button}>`}>
    <div class="map-tools"><${Input} label="Search on the map" hidden type="search" placeholder="Search on the map" value=${query.words} onInput=${(text) => setQuery({ words: text })} />
      <div class="chips" role="group" aria-label="Kinds">${kinds.map(([name, all]) => html`<${Chip} key=${name} tone=${tone(name)} on=${kind === name} count=${number(all.length)} onClick=${() => setQuery({ kind: kind === name ? "" : name })}>${name}</${Chip}>`)}</div>
      <div class="chips"><${Check} label="Lines to what was replaced" checked=${lines.replaced} onChange=${(on) => setLines({ ...lines, replaced: on })} /><${Check} label="Lines between the same tags" checked=${lines.tags} onChange=${(on) => setLines({ ...lines, tags: on })} /></div></div>
    <div class="map-panes"><${Canvas} points=${points} groups=${groups} replaced=${lines.replaced ? replaced : []} tagged=${tagged} chosen=${chosen} isFaint=${isNarrowed ? (point) => !fits(point, words, kind) : () => false}
        choose=${(point) => setQuery({ at: point?.id || "" })} mark=${`${query.words} ${kind}`} />
      <aside class="map-side" aria-label="Memories on the map">${chosen && html`<${Chosen} key=${chosen.id} point=${chosen} shut=${() => setQuery({ at: "" })} />`}
        <p class="muted small" role="status">${isNarrowed ? `${number(found.length)} of ${memories(points.length)} fit.` : `${count(groups.length, "group")}, the largest first.`}</p>
        <${Listing} groups=${groups} found=${found} narrowed=${isNarrowed} chosen=${chosen} choose=${(point) => setQuery({ at: point.id })} /></aside></div></${Page}>`;
}

function Chosen({ point, shut }) {
  const record = useData(`/records/${encodeURIComponent(point.id)}`);
  return html`<section class="chosen-point" aria-live="polite"><header class="section-head"><h2>${dayOf(point.day)}</h2><${Button} look="quiet" icon="cross" label="Close" small onClick=${shut} /></header>
    ${record.error ? html`<p class="wrong" role="alert">${record.error.message}</p>` : html`<ul><${MemoryCard} record=${record.data || { ...point, origin: "owner", timestamp: "" }} /></ul>`}
    <${Link} class="button" to=${memoryAddress(point.id)}>Open this memory</${Link}></section>`;
}

const FIRST = 40;

// The same as the picture, to be read: each island with its memories.
function Listing({ groups, found, narrowed, chosen, choose }) {
  const byGroup = Map.groupBy(found, (point) => point.group);
  return html`<div class="map-list">${groups.map(({ label, ids }, at) => byGroup.has(at) && html`<details key=${label} open=${narrowed || chosen?.group === at}><summary><span dir="auto">${label || "Others"}</span> <span class="count">${number(byGroup.get(at).length)}${narrowed ? ` of ${number(ids.length)}` : ""}</span></summary>
    <ul>${byGroup.get(at).slice(0, FIRST).map((point) => html`<li key=${point.id}><button type="button" aria-pressed=${chosen === point} onClick=${() => choose(point)} dir="auto">${point.text}</button></li>`)}</ul>
    ${byGroup.get(at).length > FIRST && html`<p class="muted small">and ${number(byGroup.get(at).length - FIRST)} more: search, or come closer.</p>`}</details>`)}</div>`;
}

// ---- The picture.

const TONES = 12;
function coloursOf(place) {
  const probe = place.appendChild(document.createElement("span"));
  const of = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  const found = { ink: of("ink"), paper: of("sheet"), island: of("sunk"), accent: of("accent"), tones: Array.from({ length: TONES }, (_, at) => of(`tone-${at}`)), font: getComputedStyle(place).fontFamily };
  probe.remove();
  return found;
}
const DARK = matchMedia("(prefers-color-scheme: dark)");

function Canvas({ points, groups, replaced, tagged, chosen, isFaint, choose, mark }) {
  const room = useRef(), paper = useRef(), own = useRef({ view: null, home: null, size: { width: 0, height: 0 }, fingers: new Map(), colours: null }).current;
  const [hovered, hover] = useState(null);
  const paint = () => {
    const { view, size, colours } = own;
    if (!view || !colours) return;
    draw(paper.current.getContext("2d"), size, view, { points, groups, replaced, tagged, chosen }, colours, isFaint);
    room.current.dataset.scale = (view.scale / own.home.scale).toFixed(3);
    room.current.dataset.at = `${view.x.toFixed(2)},${view.y.toFixed(2)}`;
  };
  const latest = useRef(paint);
  latest.current = paint;
  const soon = () => { own.frame ||= requestAnimationFrame(() => { own.frame = 0; latest.current(); }); };
  const look = (view) => { own.view = view; hover(null); soon(); };
  const fit = () => { own.home = fitted(points, own.size.width, own.size.height); look(own.home); };
  const closer = (factor, at = [own.size.width / 2, own.size.height / 2]) => look(zoomed(own.view, factor, at, own.size, own.home.scale));
  useLayoutEffect(() => {
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = room.current, dots = devicePixelRatio || 1;
      if (!width || !height || (width === own.size.width && height === own.size.height)) return;
      own.size = { width, height };
      Object.assign(paper.current, { width: width * dots, height: height * dots });
      paper.current.getContext("2d").setTransform(dots, 0, 0, dots, 0, 0);
      if (!own.view || own.view === own.home) fit(); else latest.current();
    };
    const recolour = () => { own.colours = coloursOf(room.current); soon(); };
    recolour();
    measure();
    const sized = new ResizeObserver(measure);
    sized.observe(room.current);
    addEventListener("theme", recolour);
    DARK.addEventListener("change", recolour);
    return () => { sized.disconnect(); cancelAnimationFrame(own.frame); removeEventListener("theme", recolour); DARK.removeEventListener("change", recolour); };
  }, []);
  // Other points: the window stays where the person moved it to.
  useLayoutEffect(() => { if (own.size.width && own.view === own.home) fit(); }, [points]);
  useLayoutEffect(soon, [points, replaced, tagged, chosen, mark]);
  // Who is sent to a point sees it.
  useEffect(() => {
    if (!chosen || !own.view) return;
    const [x, y] = placed(own.view, own.size)(chosen), { width, height } = own.size;
    if (x < 20 || y < 20 || x > width - 20 || y > height - 20) look({ ...own.view, x: chosen.x, y: chosen.y });
  }, [chosen]);
  useEffect(() => {
    const wheel = (event) => { event.preventDefault(); closer(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 180), where(event)); };
    paper.current.addEventListener("wheel", wheel, { passive: false });
    return () => paper.current?.removeEventListener("wheel", wheel);
  }, []);
  const where = (event) => { const box = paper.current.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const down = (event) => { paper.current.setPointerCapture(event.pointerId); own.fingers.set(event.pointerId, { at: where(event), start: where(event), far: 0 }); };
  const move = (event) => {
    const at = where(event), finger = own.fingers.get(event.pointerId);
    if (!finger) { const over = event.pointerType === "mouse" ? pointAt(points, own.view, own.size, at, 4) : null; if (over !== hovered) hover(over); return; }
    const [right, below] = [at[0] - finger.at[0], at[1] - finger.at[1]], others = [...own.fingers.values()].filter((each) => each !== finger);
    finger.far = Math.max(finger.far, Math.hypot(at[0] - finger.start[0], at[1] - finger.start[1]));
    if (others.length) {
      const [other] = others, was = Math.hypot(finger.at[0] - other.at[0], finger.at[1] - other.at[1]), is = Math.hypot(at[0] - other.at[0], at[1] - other.at[1]);
      other.far = Infinity;
      if (was > 0) closer(is / was, [(at[0] + other.at[0]) / 2, (at[1] + other.at[1]) / 2]);
    } else if (finger.far > 5) look(moved(own.view, right, below));
    finger.at = at;
  };
  const up = (event) => {
    const finger = own.fingers.get(event.pointerId);
    own.fingers.delete(event.pointerId);
    if (finger && finger.far <= 5 && event.type === "pointerup") choose(pointAt(points, own.view, own.size, finger.at, event.pointerType === "mouse" ? 5 : FINGER));
  };
  const STEP = 60, KEYS = {
    ArrowLeft: () => look(moved(own.view, STEP, 0)), ArrowRight: () => look(moved(own.view, -STEP, 0)), ArrowUp: () => look(moved(own.view, 0, STEP)), ArrowDown: () => look(moved(own.view, 0, -STEP)),
    "+": () => closer(1.35), "=": () => closer(1.35), "-": () => closer(1 / 1.35), 0: fit, Escape: () => choose(null),
  };
  const pressed = (event) => { if (KEYS[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); event.stopPropagation(); KEYS[event.key](); } };
  const tip = hovered && own.view && placed(own.view, own.size)(hovered);
  return html`<figure class="map-room" ref=${room} aria-label=${`Map of ${memories(points.length)}`}>
    <canvas ref=${paper} tabindex="0" role="img" aria-label=${`${memories(points.length)} in ${count(groups.length, "group")}. Arrows move, plus and minus zoom, 0 shows all. The list beside it says the same.`}
      class=${hovered ? "over" : ""} onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${up} onPointerLeave=${() => hover(null)} onDblClick=${(event) => closer(1.8, where(event))} onKeyDown=${pressed}></canvas>
    ${tip && html`<div class="map-tip" aria-hidden="true" dir="auto" style=${{ left: `${Math.min(Math.max(tip[0], 130), own.size.width - 130)}px`, top: `${tip[1] + radius(own.view) + 8}px` }}><strong>${hovered.kind}</strong> ${hovered.text}</div>`}
    <div class="map-zoom" role="group" aria-label="Zoom"><${Button} icon="add" label="Closer" small onClick=${() => closer(1.5)} /><${Button} icon="minus" label="Farther" small onClick=${() => closer(1 / 1.5)} /><${Button} icon="home" label="Show all" small onClick=${fit} /></div></figure>`;
}
