// Asks the gateway. Every wrong answer is an error with the sentence that the gateway gave.

export class Wrong extends Error {
  constructor(status, told) {
    super(told.detail || `The gateway answered ${status}.`);
    this.status = status;
    this.told = told;
  }
}

async function answered(response) {
  const told = await response.json().catch(() => ({}));
  if (response.status === 401) dispatchEvent(new Event("logged-out"));
  if (!response.ok) throw new Wrong(response.status, told);
  return told;
}

export async function call(path, method = "GET", body = undefined) {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const sent = body === undefined ? undefined : JSON.stringify(body);
  return answered(await fetch(path, { method, headers, body: sent, credentials: "same-origin" }));
}

export const state = { vault: "", vaults: [], who: null };

const below = (path) => `/api/vaults/${encodeURIComponent(state.vault)}${path}`;
export const get = (path, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const asked = new URLSearchParams(given).toString();
  return call(below(path) + (asked ? `?${asked}` : ""));
};
export const post = (path, body = {}) => call(below(path), "POST", body);
export const put = (path, body) => call(below(path), "PUT", body);
export const remove = (path) => call(below(path), "DELETE");
export const named = (name) => name.split("/").map(encodeURIComponent).join("/");

// The stream of changes: calls back with each, and again after the line was lost.
export function listen(heard) {
  const source = new EventSource(below("/changes"));
  source.addEventListener("change", (event) => heard(JSON.parse(event.data)));
  return () => source.close();
}
