// The places of the page: how they are called, where they stand in the sidebar, which key goes there.
// Each is a module of its own below /assets/places/ that is fetched when it is first opened.

export const PLACES = [
  { name: "home", title: "Home", icon: "home", key: "h", group: "" },
  { name: "memory", title: "Memory", icon: "memory", key: "m", group: "Memory" },
  { name: "documents", title: "Documents", icon: "documents", key: "d", group: "Memory" },
  { name: "days", title: "Days", icon: "days", key: "t", group: "Memory" },
  { name: "map", title: "Map", icon: "map", key: "a", group: "Memory" },
  { name: "trash", title: "Trash", icon: "trash", key: "x", group: "Memory" },
  { name: "agents", title: "What agents see", icon: "agents", key: "w", group: "Agents" },
  { name: "told", title: "Told", icon: "info", key: "o", group: "Agents" },
  { name: "conversations", title: "Conversations", icon: "conversations", key: "c", group: "Agents" },
  { name: "review", title: "Review", icon: "review", key: "r", group: "Agents" },
  { name: "activity", title: "Activity", icon: "activity", key: "l", group: "Agents" },
  { name: "upkeep", title: "Upkeep", icon: "upkeep", key: "k", group: "Vault" },
  { name: "settings", title: "Settings", icon: "settings", key: "e", group: "Vault" },
  // Reached by the box at the top.
  { name: "search", title: "Search", icon: "search", key: "s", group: null },
];
export const GROUPS = ["", "Memory", "Agents", "Vault"];
export const placeOf = (name) => PLACES.find((each) => each.name === name);
