import { bodyPlace } from "../../events/record-events.ts";
import type { Session } from "../../platform/db/database.ts";
import { open } from "../../platform/encryption/cipher.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import type { ArchivedEvent, ArchivedRow, ArchiveHead } from "./model.ts";

/** Rows of a file as a person reads them; the bodies of erased people are null. */
export async function openArchived(
  session: Session,
  keyring: Keyring,
  { account_id, table_name }: ArchiveHead,
  rows: readonly ArchivedRow[],
): Promise<readonly ArchivedRow[]> {
  if (table_name !== "events") return rows;
  const events = rows as readonly ArchivedEvent[];
  const owned = events.map(({ subject_id }) => ({ account_id, subject_id }));
  const keyOf = await keyring.openOwners(session, owned);
  return events.map((event) => {
    const key = keyOf({ account_id, subject_id: event.subject_id });
    if (event.body === null || !key) return { ...event, body: null };
    const body = open(key, bodyPlace(account_id, event.id), Buffer.from(event.body, "base64"));
    return { ...event, body: JSON.parse(body.toString()) as unknown };
  });
}
