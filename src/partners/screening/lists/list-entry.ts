import { hash } from "node:crypto";
import type { ListEntry } from "../port.ts";

/**
 * An entry with the digest of everything that is known of it. Wallets without a name are named by
 * their addresses: an entry without any name does not count.
 */
export function listEntry(fields: Omit<ListEntry, "digest">): ListEntry {
  const given = fields.names
    .map(({ text, is_weak }) => ({ text: text.replace(/\s+/g, " ").trim(), is_weak }))
    .filter(({ text }) => text !== "");
  const { list, id, kind, birth_dates, countries, wallets, programs } = fields;
  const names = given.length > 0 ? given : wallets.map((text) => ({ text, is_weak: false }));
  const said = JSON.stringify([list, id, kind, names, birth_dates, countries, wallets, programs]);
  return { ...fields, names, digest: hash("sha256", said, "base64url") };
}

/** `Digital Currency Address - XBT 1abc`, the kind and the address apart or together. */
export function walletIn(text: string): string | undefined {
  return /^(?:alt\. )?Digital Currency Address - [A-Z0-9]+ +([A-Za-z0-9]{20,})$/.exec(
    text.trim(),
  )?.[1];
}
