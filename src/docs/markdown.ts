import { type Html, html, raw } from "../platform/http/html.ts";
import { type MarkdownBlock, parseBlocks } from "./markdown-blocks.ts";

/** A part of a page with its own anchor, as the search indexes it. */
type Section = { anchor: string; heading: string; text: string };

type Rendered = { title: string; summary: string; body: Html; sections: Section[] };

/** The URL on our pages that a link leads to; null when there is none: only its text is shown. */
export type ResolveLink = (href: string) => string | null;

const SUMMARY_CHARACTERS_MIN = 40;

type Context = {
  resolve: ResolveLink;
  anchors: Set<string>;
  sections: Section[];
  has_row_anchors: boolean;
};

/**
 * The text as HTML. Our own parser: two small files save the running service a dependency, and our
 * documents need only a subset of Markdown. It is safe for any input: all text is escaped, and a
 * link leads to one of our pages or to http(s), or is dropped.
 */
export function renderMarkdown(
  text: string,
  resolve: ResolveLink,
  { has_row_anchors = true } = {},
): Rendered {
  const blocks = parseBlocks(text);
  const first = blocks.find((block) => block.kind === "heading");
  const title = first ? plainText(first.text) : "Untitled";
  const opening = blocks.find((block) => block.kind === "paragraph");
  const context: Context = {
    resolve,
    anchors: new Set(),
    has_row_anchors,
    sections: [{ anchor: "", heading: title, text: "" }],
  };
  const body = html`${blocks.map((block) => renderTop(context, block))}`;
  return {
    title,
    summary: opening ? opensWith(plainText(opening.text)) : "",
    body,
    sections: context.sections,
  };
}

/** A heading opens a section; everything else belongs to the open one. */
function renderTop(context: Context, block: MarkdownBlock): Html {
  if (block.kind === "heading") return renderHeading(context, block);
  const section = context.sections.at(-1)!;
  const rendered = renderBlock(context, block);
  section.text = `${section.text} ${plainBlock(block)}`.trim();
  return rendered;
}

function renderHeading(
  context: Context,
  { level, text }: MarkdownBlock & { kind: "heading" },
): Html {
  const shown = renderInline(context, text);
  if (level === 1) return html`<h1>${shown}</h1>\n`;
  const heading = plainText(text);
  const anchor = uniqueAnchor(context, slugOf(heading));
  context.sections.push({ anchor, heading, text: "" });
  const [open, close] = [raw(`<h${level} `), raw(`</h${level}>`)];
  return html`${open}id="${anchor}"><a class="anchor" href="#${anchor}">${shown}</a>${close}\n`;
}

function renderBlock(context: Context, block: MarkdownBlock): Html {
  switch (block.kind) {
    case "heading":
      return html`<p><strong>${renderInline(context, block.text)}</strong></p>\n`;
    case "code":
      // It scrolls on its own, so it must be reachable by keyboard.
      return html`<pre tabindex="0" data-language="${block.language}">${code(block.text)}</pre>\n`;
    case "list":
      return renderList(context, block);
    case "table":
      return renderTable(context, block);
    case "paragraph":
      return html`<p>${renderInline(context, block.text)}</p>\n`;
  }
}

function code(text: string): Html {
  return html`<code>${text}</code>`;
}

function renderList(
  context: Context,
  { is_ordered, items }: MarkdownBlock & { kind: "list" },
): Html {
  const rows = items.map((blocks) => {
    const [only] = blocks;
    const is_short = blocks.length === 1 && only?.kind === "paragraph";
    const content = is_short
      ? renderInline(context, only.text)
      : blocks.map((block) => renderBlock(context, block));
    return html`<li>${content}</li>\n`;
  });
  return is_ordered ? html`<ol>${rows}</ol>\n` : html`<ul>${rows}</ul>\n`;
}

/** As on our other pages: on a narrow screen every row becomes a small card with labels. */
function renderTable(context: Context, { head, rows }: MarkdownBlock & { kind: "table" }): Html {
  const labels = head.map(plainText);
  const heads = head.map(
    (cell) => html`<th role="columnheader" scope="col">${renderInline(context, cell)}</th>`,
  );
  const bodies = rows.map((cells) => {
    const anchor = rowAnchor(context, cells);
    const opening = anchor === null ? raw('<tr role="row">') : html`<tr role="row" id="${anchor}">`;
    const rendered = labels.map((label, at) => {
      const cell = renderInline(context, cells[at] ?? "");
      return html`<td role="cell" data-label="${label}"><span>${cell}</span></td>`;
    });
    return html`${opening}${rendered}</tr>\n`;
  });
  return html`<table role="table">
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${bodies}</tbody>
</table>
`;
}

/** A row about one name in code, such as an error or a setting, can be linked to and searched. */
function rowAnchor(context: Context, [name = "", ...cells]: readonly string[]): string | null {
  const code = /^`([\w.-]+)`$/.exec(name)?.[1];
  // A name with several rows, such as the fields of each currency, is anchored at the first.
  if (code === undefined || context.anchors.has(code) || !context.has_row_anchors) return null;
  context.anchors.add(code);
  const section = context.sections.at(-1)!;
  context.sections.splice(-1, 0, {
    anchor: code,
    heading: code,
    text: [section.heading, ...cells.map(plainText)].join(" "),
  });
  return code;
}

const INLINE = new RegExp(
  [
    "(?<ticks>`+)(?<code>.+?)\\k<ticks>",
    "!\\[(?<alt>[^\\]]*)\\]\\((?<source>[^)\\s]+)\\)",
    "\\[(?<label>(?:`[^`]*`|[^\\[\\]])+)\\]\\((?<href>[^)\\s]+)\\)",
    "\\*\\*(?<strong>.+?)\\*\\*",
    "\\*(?<emphasis>[^\\s*](?:[^*]*[^\\s*])?)\\*",
    "\\\\(?<escaped>[!-/:-@[-`{-~])",
  ].join("|"),
  "gs",
);

function renderInline(context: Context, text: string): Html {
  const parts: (Html | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(end, match.index), renderMatch(context, match.groups!));
    end = match.index + match[0].length;
  }
  return html`${[...parts, text.slice(end)]}`;
}

function renderMatch(context: Context, found: Record<string, string | undefined>): Html {
  const { alt, source, label, href, strong, emphasis, escaped } = found;
  // Blanks only separate code that itself begins or ends with a backquote.
  if (found.code !== undefined) return code(found.code.trim());
  if (source !== undefined) return renderImage(context, alt ?? "", source);
  if (href !== undefined) return renderLink(context, label ?? "", href);
  if (strong !== undefined) return html`<strong>${renderInline(context, strong)}</strong>`;
  if (emphasis !== undefined) return html`<em>${renderInline(context, emphasis)}</em>`;
  return html`${escaped}`;
}

function renderLink(context: Context, label: string, href: string): Html {
  const shown = renderInline(context, label);
  const target = safeHref(context, href);
  return target === null ? shown : html`<a href="${target}">${shown}</a>`;
}

function renderImage(context: Context, alt: string, source: string): Html {
  const target = safeHref(context, source);
  return target === null ? html`${alt}` : html`<img src="${target}" alt="${alt}">`;
}

function safeHref(context: Context, href: string): string | null {
  if (/^(https?:\/\/|#)/i.test(href)) return href;
  // Any other scheme, or a host without one, is not linked.
  if (/^[a-z][a-z\d+.-]*:|^[/\\]{2}/i.test(href)) return null;
  return context.resolve(href);
}

/** The words alone, for titles and for the search. */
export function plainText(text: string): string {
  return text
    .replace(INLINE, (...match) => {
      const found = match.at(-1) as Record<string, string | undefined>;
      const inner = found.label ?? found.strong ?? found.emphasis;
      return inner === undefined
        ? (found.code ?? found.alt ?? found.escaped ?? "")
        : plainText(inner);
    })
    .replace(/\s+/g, " ")
    .trim();
}

function plainBlock(block: MarkdownBlock): string {
  switch (block.kind) {
    case "code":
      return block.text.replace(/\s+/g, " ");
    case "list":
      return block.items.map((blocks) => blocks.map(plainBlock).join(" ")).join(" ");
    case "table":
      return block.rows.map((cells) => cells.map(plainText).join(" ")).join(" ");
    default:
      return plainText(block.text);
  }
}

/** The first sentence, or more if that is too short. */
function opensWith(text: string): string {
  return (
    new RegExp(`^.{${SUMMARY_CHARACTERS_MIN},}?\\.(?= |$)`).exec(text)?.[0] ??
    text.replace(/:$/, ".")
  );
}

function slugOf(heading: string): string {
  const slug = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
  return slug || "part";
}

function uniqueAnchor(context: Context, wanted: string): string {
  let anchor = wanted;
  for (let number = 1; context.anchors.has(anchor); number++) anchor = `${wanted}-${number}`;
  context.anchors.add(anchor);
  return anchor;
}
