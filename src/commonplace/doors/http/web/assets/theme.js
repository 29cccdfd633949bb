// Light or dark as the person chose, before anything is drawn. Without a choice the system decides.
(() => {
  const chosen = localStorage.getItem("commonplace:theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
