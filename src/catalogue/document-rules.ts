import type { Rail } from "./rails.ts";

/** Above (not at) this destination_amount an offramp needs a document's URL at creation. */
export const DOCUMENT_THRESHOLDS: Readonly<Record<string, string>> = { eur: "15000", usd: "10000" };

/** These rails need one at any amount. */
export const DOCUMENT_RAILS: readonly Rail[] = ["swift"];
