/** HTML that is safe to send: every value in it was escaped or explicitly marked as raw. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = string | number | Html | null | undefined | false | readonly HtmlValue[];

const ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A template that escapes its values, for text and quoted attributes. */
export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  const [first, ...rest] = parts;
  return new Html(rest.reduce((text, part, at) => text + render(values[at]) + part, first!));
}

/** For our own markup; never for external input. */
export function raw(markup: string): Html {
  return new Html(markup);
}

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(render).join("");
  return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character]!);
}
