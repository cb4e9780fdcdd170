// Adds a copy button to every block of code.
for (const block of document.querySelectorAll("pre")) {
  const box = document.createElement("div");
  box.className = "code-box";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy this code");
  const said = document.createElement("span");
  said.className = "hidden";
  said.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    const is_copied = await copy(block.textContent);
    button.textContent = is_copied ? "Copied" : "Select and copy";
    said.textContent = is_copied ? "Copied" : "";
    setTimeout(() => {
      button.textContent = "Copy";
      said.textContent = "";
    }, 2_000);
  });
  block.replaceWith(box);
  box.append(block, button, said);
}

/** The clipboard needs https or loopback; elsewhere the text is selected instead. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
