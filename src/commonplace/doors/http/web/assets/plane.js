// The drawing of the map: points, islands, lines and names on a canvas, with its window on them. It knows nothing of the page.

const MARGIN = 34, CLOSEST = 44, FARTHEST = 0.7;
export const FINGER = 18;

// The window on the plane: `scale` pixels a step, and where the middle of the canvas lies.
export function fitted(points, width, height) {
  if (!points.length) return { scale: 10, x: 0, y: 0 };
  const [left, right] = [Math.min(...points.map((each) => each.x)), Math.max(...points.map((each) => each.x))];
  const [top, bottom] = [Math.min(...points.map((each) => each.y)), Math.max(...points.map((each) => each.y))];
  const scale = Math.min((width - 2 * MARGIN) / Math.max(6, right - left), (height - 2 * MARGIN - 14) / Math.max(6, bottom - top));
  return { scale: Math.min(scale, 26), x: (left + right) / 2, y: (top + bottom) / 2 };
}

// Closer by a factor, about a place of the canvas that stays where it is.
export function zoomed(view, factor, at, size, least) {
  const scale = Math.max(least * FARTHEST, Math.min(CLOSEST, view.scale * factor)), [x, y] = at;
  const [right, down] = [x - size.width / 2, y - size.height / 2];
  return { scale, x: view.x + right / view.scale - right / scale, y: view.y + down / view.scale - down / scale };
}
export const moved = (view, right, down) => ({ ...view, x: view.x - right / view.scale, y: view.y - down / view.scale });
export const placed = (view, size) => ({ x, y }) => [(x - view.x) * view.scale + size.width / 2, (y - view.y) * view.scale + size.height / 2];
export const radius = (view) => Math.max(1.7, Math.min(10, view.scale * 0.36));

// The point under a place of the canvas, or the nearest within reach of a finger.
export function pointAt(points, view, size, [x, y], reach) {
  const place = placed(view, size);
  let best = null, least = Math.max(radius(view), reach) ** 2;
  for (const point of points) {
    const [right, down] = place(point), far = (right - x) ** 2 + (down - y) ** 2;
    if (far <= least) { best = point; least = far; }
  }
  return best;
}

const line = (brush, [x, y], [right, down]) => { brush.moveTo(x, y); brush.lineTo(right, down); };

function drawLines(brush, place, lines, colour, alpha, width = 1) {
  brush.strokeStyle = colour;
  brush.globalAlpha = alpha;
  brush.lineWidth = width;
  brush.beginPath();
  for (const [one, other] of lines) line(brush, place(one), place(other));
  brush.stroke();
  brush.globalAlpha = 1;
}

function drawPoint(brush, [x, y], size, colour, { hollow, faint }) {
  brush.globalAlpha = faint ? 0.13 : 0.92;
  brush.beginPath();
  brush.arc(x, y, hollow ? size * 0.8 : size, 0, 2 * Math.PI);
  if (hollow) { brush.strokeStyle = colour; brush.lineWidth = Math.max(1, size * 0.35); brush.stroke(); } else { brush.fillStyle = colour; brush.fill(); }
}

const BESIDE = 40;
// As many words of a name as there is room for above its island.
function shortened(brush, label, room) {
  const words = label.split(" · ");
  while (words.length > 1 && brush.measureText(words.join(" · ")).width > room + BESIDE) words.pop();
  return words.join(" · ");
}

// The names of the islands, the largest first; one that would stand on another is left out until there is room.
function drawNames(brush, place, view, groups, colours, size) {
  const taken = [];
  brush.font = `600 13px ${colours.font}`;
  brush.textAlign = "center";
  brush.textBaseline = "bottom";
  for (const { x, y, radius: reach, label: whole } of groups) {
    if (!whole) continue;
    const label = shortened(brush, whole, 2 * reach * view.scale);
    const [right, top] = place({ x, y: y - reach }), wide = brush.measureText(label).width, low = top - radius(view) - 3;
    const middle = Math.max(wide / 2 + 6, Math.min(size.width - wide / 2 - 6, right));
    const box = [middle - wide / 2 - 4, low - 16, middle + wide / 2 + 4, low];
    const outside = right < -40 || right > size.width + 40 || box[3] < 4 || box[1] > size.height;
    if (outside || taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    brush.lineWidth = 4;
    brush.lineJoin = "round";
    brush.strokeStyle = colours.paper;
    brush.strokeText(label, middle, low);
    brush.fillStyle = colours.ink;
    brush.fillText(label, middle, low);
  }
}

/* Everything at once: { points, groups, replaced, tagged } in the window `view`; `isFaint(point)` says which stand back. */
export function draw(brush, size, view, { points, groups, replaced, tagged, chosen }, colours, isFaint) {
  const place = placed(view, size), dot = radius(view);
  brush.clearRect(0, 0, size.width, size.height);
  for (const { x, y, radius: reach } of groups) {
    const [right, down] = place({ x, y });
    brush.fillStyle = colours.island;
    brush.beginPath();
    brush.arc(right, down, (reach + 0.85) * view.scale, 0, 2 * Math.PI);
    brush.fill();
  }
  drawLines(brush, place, tagged, colours.accent, chosen ? 0.55 : 0.28);
  drawLines(brush, place, replaced, colours.ink, 0.75, 1.5);
  for (const point of points) drawPoint(brush, place(point), dot, colours.tones[point.tone], { hollow: point.replaced, faint: isFaint(point) });
  brush.globalAlpha = 1;
  if (chosen) {
    const [x, y] = place(chosen);
    brush.strokeStyle = colours.ink;
    brush.lineWidth = 2.5;
    brush.beginPath();
    brush.arc(x, y, dot + 4, 0, 2 * Math.PI);
    brush.stroke();
  }
  drawNames(brush, place, view, groups, colours, size);
}

// Each memory beside the nearest of another island with the same tag: all pairs would hide the map.
export function bridges(points) {
  const byTag = new Map();
  for (const point of points) for (const tag of point.tags) byTag.set(tag, [...(byTag.get(tag) || []), point]);
  const found = [];
  for (const all of byTag.values()) {
    for (const point of all) {
      let best = null, least = Infinity;
      for (const other of all) {
        const far = (point.x - other.x) ** 2 + (point.y - other.y) ** 2;
        if (other.group !== point.group && far < least) { best = other; least = far; }
      }
      if (best) found.push([point, best]);
    }
  }
  return found;
}
export const alike = (chosen, points) => points.filter((other) => other !== chosen && other.tags.some((tag) => chosen.tags.includes(tag))).map((other) => [chosen, other]);
