import { type Html, html } from "../platform/http/html.ts";
import { moment, NONE, table } from "../platform/pages/layout.ts";
import type { Retention } from "./model.ts";

const STATUS_TEXTS: Record<Retention["status"], string> = {
  active: "Active; nobody requested the erasure",
  erasure_requested: "Deactivated; the erasure was requested",
  erased: "Erased",
};

/** What must be kept of a user, on the page of its record. */
export function retentionSection(retention: Retention): Html {
  const { status, requested_at, last_payment_at, erase_after, kept } = retention;
  return html`<section class="card" aria-labelledby="retention-title">
<h2 id="retention-title">Retention</h2>
<dl>
<div><dt>Status</dt><dd>${STATUS_TEXTS[status]}</dd></div>
<div><dt>Requested</dt><dd>${requested_at ? moment(requested_at) : NONE}</dd></div>
<div><dt>Last payment</dt><dd>${last_payment_at ? moment(last_payment_at) : NONE}</dd></div>
<div><dt>Can be erased</dt>
<dd>${eraseText(retention)}${erase_after && moment(erase_after)}</dd></div>
</dl>
${table({
  label: "What is kept",
  columns: ["Kept", "Until", "Why"],
  rows: kept.map(({ record, until, why }) => [
    record.replaceAll("_", " "),
    until ? moment(until) : "No time known",
    why,
  ]),
  empty: "Nothing has to be kept.",
})}
</section>`;
}

function eraseText({ erase_after, kept }: Retention): string {
  if (erase_after) return "From ";
  return kept.length === 0 ? "Now" : "Once nothing has to be kept";
}
