// Undo and redo of the person's own last change: never of what somebody else did.

import { post } from "/assets/api.js";
import { plainly } from "/assets/text.js";
import { toast, toastWrong } from "/assets/ui.js";

const LONGEST = 160;
const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

// What a change did, in the words of its texts.
export function told(change, verb) {
  const texts = (change.pieces || []).map(({ before, after }) => after || before).filter(Boolean);
  if (!texts.length) return `${verb}: ${(change.documents || []).join(", ")}.`;
  const more = texts.length - 1 + (change.more || 0);
  return `${verb}: “${short(plainly(texts[0]))}”${more ? ` and ${more} more` : ""}`;
}

export async function undo() {
  try {
    const { undone, edits } = await post("/undo", { mine: true });
    const stays = edits.length ? " Newer edits made by hand stay." : "";
    toast(told(undone, "Taken back") + stays, { action: { label: "Redo", run: redo } });
  } catch (error) { toastWrong(error); }
}

export async function redo() {
  try {
    const { redone } = await post("/redo", { mine: true });
    toast(told(redone, "Made again"), { action: { label: "Undo", run: undo } });
  } catch (error) { toastWrong(error); }
}
