import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mode } from "../config/config.ts";
import { type Html, type HtmlValue, html, raw } from "../http/html.ts";

/** The signed-in user, as the header of a page shows it. */
type Viewer = { email: string; csrf: string };

export const STYLESHEET = readFileSync(join(import.meta.dirname, "pages.css"), "utf8");
export const STYLESHEET_PATH = "/assets/pages.css";
/** Part of the URL, so that a browser may cache the file permanently. */
export const STYLESHEET_HASH = createHash("sha256").update(STYLESHEET).digest("hex").slice(0, 12);

// A road joined by another. A data URL, because the pages' policy allows no other source.
const ICON = raw(
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Crect " +
    "width='24' height='24' rx='6' fill='%231d5bb8'/%3E%3Cpath d='M8 19V5M8 13c0-4 8-2 8-8' " +
    "fill='none' stroke='white' stroke-width='2.5' stroke-linecap='round'/%3E%3C/svg%3E",
);

export const BRAND_MARK = raw(
  '<svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">' +
    '<rect width="24" height="24" rx="6"></rect><path d="M8 19V5M8 13c0-4 8-2 8-8"></path></svg>',
);

/** The HTML document around the body of a page; `head` adds to its head. */
export function htmlDocument(title: string, body: Html, head: Html | null = null): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Sliproad</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${STYLESHEET_PATH}?${STYLESHEET_HASH}">
${head}
</head>
${body}
</html>
`;
}

/** A whole page. Without a session it has no header and one narrow column. */
export function page(options: {
  title: string;
  mode: Mode;
  session: Viewer | null;
  body: Html;
  head?: Html | null;
}): Html {
  const { title, mode, session, body, head = null } = options;
  const whole = session ? signedInBody(mode, session, body) : quietBody(mode, body);
  return htmlDocument(title, whole, head);
}

/** A table on a wide screen; on a narrow one every row becomes a card with labels. */
export function table(options: {
  label: string;
  columns: readonly string[];
  rows: readonly (readonly HtmlValue[])[];
  /** Shown instead of a table without rows. */
  empty: string;
}): Html {
  const { label, columns, rows, empty } = options;
  if (rows.length === 0) return html`<p class="muted">${empty}</p>`;
  // The explicit roles are needed because a table displayed as blocks loses its own.
  return html`<table role="table" aria-label="${label}">
<thead role="rowgroup"><tr role="row">${columns.map(
    (column) => html`<th role="columnheader" scope="col">${column}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows.map(
    (cells) => html`<tr role="row">${cells.map(
      (cell, at) => html`<td role="cell" data-label="${columns[at]}">${cell}</td>`,
    )}</tr>
`,
  )}</tbody>
</table>`;
}

/** The content of an empty cell; on a narrow screen the cell is hidden. */
export const NONE = html`<span class="none">–</span>`;

/** A time to the minute in UTC; the markup contains the exact one. */
export function moment(time: Date): Html {
  const exact = time.toISOString();
  const shown = `${exact.slice(0, 10)} ${exact.slice(11, 16)} UTC`;
  return html`<time datetime="${exact}" title="${exact}">${shown}</time>`;
}

/** The hidden field that every form must send to be accepted. */
export function csrfField(csrf: string): Html {
  return html`<input type="hidden" name="csrf" value="${csrf}">`;
}

function badge(mode: Mode): Html {
  return html`<span class="badge badge-${mode}">${mode === "sandbox" ? "Sandbox" : "Live"}</span>`;
}

function signedInBody(mode: Mode, session: Viewer, body: Html): Html {
  return html`<body>
<a class="skip" href="#main">Skip to content</a>
<header class="top"><div class="column">
<a class="brand" href="/dashboard">${BRAND_MARK}Sliproad</a>
${badge(mode)}
<a class="who" href="/dashboard/security">${session.email}</a>
<form method="post" action="/sign-out">${csrfField(session.csrf)}
<button class="plain" type="submit">Sign out</button></form>
</div></header>
<main class="column" id="main">
${body}
</main>
</body>`;
}

function quietBody(mode: Mode, body: Html): Html {
  return html`<body class="quiet">
<main>
<p class="brand">${BRAND_MARK}Sliproad ${badge(mode)}</p>
<div class="card">
${body}
</div>
</main>
</body>`;
}
