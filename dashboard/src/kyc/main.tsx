import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Page } from "./page.tsx";
import { locale } from "./texts.ts";

document.documentElement.lang = locale;
// A file dropped outside a drop zone must not replace the page.
for (const name of ["dragover", "drop"]) {
  window.addEventListener(name, (event) => event.preventDefault());
}

const root = document.getElementById("page");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
}
