// Undo and redo of the person's own last change: never of what somebody else did.

import { post } from "/assets/api.js";
import { toast, toastWrong } from "/assets/ui.js";

const LONGEST = 160;
const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

// A change in words, with its text where it has one.
export function told(change, verb) {
  const text = (change.texts || []).map(short).join("; ");
  const where = change.documents?.length ? ` (${change.documents.join(", ")})` : "";
  return text ? `${verb}: “${text}”` : `${verb}${where}.`;
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
