import { lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { type Html, html, raw } from "../platform/http/html.ts";

/** A part of a page with its own anchor, as the search indexes it. */
type Section = { anchor: string; heading: string; text: string };

export type Rendered = { title: string; summary: string; body: Html; sections: Section[] };

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
 * The text as HTML. The library reads the Markdown; rendering is ours, so that any input is safe:
 * all text is escaped, and a link leads to one of our pages or to http(s), or is dropped.
 */
export function renderMarkdown(
  text: string,
  resolve: ResolveLink,
  { has_row_anchors = true } = {},
): Rendered {
  const tokens = lexer(text);
  const first = tokens.find((token) => token.type === "heading");
  const title = first ? plainText(first) : "Untitled";
  const opening = tokens.find((token) => token.type === "paragraph");
  const context: Context = {
    resolve,
    anchors: new Set(),
    has_row_anchors,
    sections: [{ anchor: "", heading: title, text: "" }],
  };
  const body = html`${tokens.map((token) => renderTop(context, token))}`;
  return {
    title,
    summary: opening ? opensWith(plainText(opening)) : "",
    body,
    sections: context.sections,
  };
}

/** A heading opens a section; everything else belongs to the open one. */
function renderTop(context: Context, token: Token): Html {
  if (token.type === "heading") return renderHeading(context, token as Tokens.Heading);
  const section = context.sections.at(-1)!;
  const rendered = renderBlock(context, token);
  section.text = `${section.text} ${plainText(token)}`.trim();
  return rendered;
}

function renderHeading(context: Context, token: Tokens.Heading): Html {
  const shown = renderInline(context, token.tokens);
  if (token.depth === 1) return html`<h1>${shown}</h1>\n`;
  const heading = plainText(token);
  const anchor = uniqueAnchor(context, slugOf(heading));
  context.sections.push({ anchor, heading, text: "" });
  const [open, close] = [raw(`<h${token.depth} `), raw(`</h${token.depth}>`)];
  return html`${open}id="${anchor}"><a class="anchor" href="#${anchor}">${shown}</a>${close}\n`;
}

function renderBlock(context: Context, block: Token): Html {
  const token = block as MarkedToken;
  switch (token.type) {
    case "heading":
      return html`<p><strong>${renderInline(context, token.tokens)}</strong></p>\n`;
    case "code":
      // It scrolls on its own, so it must be reachable by keyboard.
      return html`<pre tabindex="0" data-language="${token.lang}">${code(token.text)}</pre>\n`;
    case "list":
      return renderList(context, token);
    case "table":
      return renderTable(context, token);
    case "space":
    case "def":
      return html``;
    case "paragraph":
    case "text":
      return html`<p>${renderInline(context, token.tokens ?? [])}</p>\n`;
    default:
      return isComment(token) ? html`` : html`<p>${token.raw.trim()}</p>\n`;
  }
}

function isComment({ raw }: Token): boolean {
  return raw.trimStart().startsWith("<!--");
}

function code(text: string): Html {
  return html`<code>${text}</code>`;
}

function renderList(context: Context, { ordered, items }: Tokens.List): Html {
  const rows = items.map((item) => {
    const blocks = item.tokens.filter(({ type }) => type !== "space");
    const [only] = blocks;
    const is_short = blocks.length === 1 && (only?.type === "text" || only?.type === "paragraph");
    const content = is_short
      ? renderInline(context, (only as Tokens.Text).tokens ?? [])
      : blocks.map((block) => renderBlock(context, block));
    return html`<li>${content}</li>\n`;
  });
  return ordered ? html`<ol>${rows}</ol>\n` : html`<ul>${rows}</ul>\n`;
}

/** As on our other pages: on a narrow screen every row becomes a small card with labels. */
function renderTable(context: Context, { header, rows }: Tokens.Table): Html {
  const labels = header.map(plainText);
  const heads = header.map(
    (cell) => html`<th role="columnheader" scope="col">${renderInline(context, cell.tokens)}</th>`,
  );
  const bodies = rows.map((cells) => {
    const anchor = rowAnchor(context, cells);
    const opening = anchor === null ? raw('<tr role="row">') : html`<tr role="row" id="${anchor}">`;
    const rendered = cells.map(({ tokens }, at) => {
      const cell = renderInline(context, tokens);
      return html`<td role="cell" data-label="${labels[at]}"><span>${cell}</span></td>`;
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
function rowAnchor(context: Context, [name, ...cells]: Tokens.TableCell[]): string | null {
  const code = /^`([\w.-]+)`$/.exec(name?.text ?? "")?.[1];
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

function renderInline(context: Context, tokens: readonly Token[]): Html {
  return html`${tokens.map((token) => renderPart(context, token))}`;
}

function renderPart(context: Context, part: Token): Html {
  const token = part as MarkedToken;
  switch (token.type) {
    case "codespan":
      return code(token.text);
    case "image":
      return renderImage(context, token.text, token.href);
    case "link":
      return renderLink(context, token);
    case "strong":
      return html`<strong>${renderInline(context, token.tokens)}</strong>`;
    case "em":
      return html`<em>${renderInline(context, token.tokens)}</em>`;
    case "text":
    case "escape":
      return html`${token.text}`;
    default:
      return isComment(token) ? html`` : html`${token.raw}`;
  }
}

function renderLink(context: Context, { tokens, href }: Tokens.Link): Html {
  const shown = renderInline(context, tokens);
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
  if (/^[a-z][a-z\d+.-]*:|^\/\/|^\\/i.test(href)) return null;
  return context.resolve(href);
}

/** The words alone, for titles and for the search. */
function plainText(token: object): string {
  return wordsOf(token as Tokens.Generic)
    .replace(/\s+/g, " ")
    .trim();
}

function wordsOf({ type, tokens, items, rows, text, raw = "" }: Tokens.Generic): string {
  const inner: Tokens.Generic[] | undefined = rows?.flat() ?? items;
  if (inner) return inner.map(wordsOf).join(" ");
  if (type === "html") return isComment({ type, raw }) ? "" : raw;
  return tokens ? tokens.map(wordsOf).join(type === "list_item" ? " " : "") : (text ?? "");
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
