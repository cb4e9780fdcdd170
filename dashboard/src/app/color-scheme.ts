// Runs before the first paint, so that a dark page never flashes white.
const chosen = localStorage.getItem("color-scheme");
const isDark =
  chosen === "dark" ||
  (chosen !== "light" && window.matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.setAttribute("data-mantine-color-scheme", isDark ? "dark" : "light");
