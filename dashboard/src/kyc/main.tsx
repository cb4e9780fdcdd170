import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Page } from "./page.tsx";
import { locale } from "./texts.ts";

document.documentElement.lang = locale;
// A file that is dropped beside its place must not take the page's place.
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
