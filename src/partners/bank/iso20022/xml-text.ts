/** An element with its content; nothing at all for an empty one, which banks refuse. */
export function element(name: string, content: string, attributes = ""): string {
  return content === "" ? "" : `<${name}${attributes}>${content}</${name}>`;
}

/** An element that contains a text. */
export function textElement(name: string, text: string | null, attributes = ""): string {
  return text === null ? "" : element(name, escaped(text), attributes);
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (character) => ESCAPES[character]!);
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
