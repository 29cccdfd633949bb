// What differs between two texts, line by line. It knows nothing of the page.

// Two texts with so many pairs of lines between what they begin and end with alike are not compared any closer.
const MOST = 4e6;

const ended = (text) => text.split(/(?<=\r\n|\n|\r(?!\n))/);

// A text as an editor holds it: every line ends alike.
export const plain = (text) => text.replace(/\r\n?/g, "\n");

// Where two lists of lines differ, in order: the lines `from` to `to` of the old are `lines` now.
export function hunks(old, now) {
  const least = Math.min(old.length, now.length);
  let head = 0, tail = 0;
  while (head < least && old[head] === now[head]) head += 1;
  while (tail < least - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const before = old.slice(head, old.length - tail), after = now.slice(head, now.length - tail);
  if (!before.length && !after.length) return [];
  if (before.length * after.length > MOST) return [{ from: head, to: head + before.length, lines: after }];
  return walked(before, after, head);
}

// Along the lines that both have, as many of them as can be in the same order.
function walked(before, after, head) {
  const common = table(before, after), found = [];
  let here = 0, there = 0;
  while (here < before.length || there < after.length) {
    if (here < before.length && before[here] === after[there]) { here += 1; there += 1; continue; }
    const from = here, start = there;
    while ((here < before.length || there < after.length) && before[here] !== after[there]) {
      if (there === after.length || (here < before.length && common[here + 1][there] >= common[here][there + 1])) here += 1;
      else there += 1;
    }
    found.push({ from: head + from, to: head + here, lines: after.slice(start, there) });
  }
  return found;
}

function table(before, after) {
  const common = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let here = before.length - 1; here >= 0; here -= 1)
    for (let there = after.length - 1; there >= 0; there -= 1)
      common[here][there] = before[here] === after[there] ? common[here + 1][there + 1] + 1
        : Math.max(common[here + 1][there], common[here][there + 1]);
  return common;
}

// The same as places in the text, no longer than they must be: a cursor beside them stays where it is.
export function changes(before, after) {
  const old = ended(before), starts = [0];
  for (const line of old) starts.push(starts.at(-1) + line.length);
  return hunks(old, ended(after)).map(({ from, to, lines }) => shortened(before, starts[from], starts[to], lines.join("")));
}

function shortened(before, from, to, insert) {
  const least = Math.min(to - from, insert.length);
  let head = 0, tail = 0;
  while (head < least && before[from + head] === insert[head]) head += 1;
  while (tail < least - head && before[to - 1 - tail] === insert.at(-1 - tail)) tail += 1;
  return { from: from + head, to: to - tail, insert: insert.slice(head, insert.length - tail) };
}

// What was typed, with the ends of lines that the text had: those it kept as they were, new ones as its last.
export function withEnds(text, typed) {
  if (!text.includes("\r")) return typed;
  const old = ended(text), end = text.match(/\r\n?|\n/g).at(-1);
  const made = [];
  let at = 0;
  for (const { from, to, lines } of hunks(old.map(plain), ended(typed))) {
    made.push(...old.slice(at, from), ...lines.map((line) => line.replace("\n", end)));
    at = to;
  }
  return [...made, ...old.slice(at)].join("");
}
