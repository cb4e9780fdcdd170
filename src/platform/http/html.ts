/** HTML that is safe to send: every value in it was escaped, or called raw by name. */
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

/** A template whose values are escaped, in text and in quoted attributes alike. */
export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  const [first, ...rest] = parts;
  return new Html(rest.reduce((text, part, at) => text + render(values[at]) + part, first!));
}

/** For markup that we wrote ourselves; never for anything that came from outside. */
export function raw(markup: string): Html {
  return new Html(markup);
}

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(render).join("");
  return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character]!);
}
