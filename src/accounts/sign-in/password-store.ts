import type { Session, Transaction } from "../../platform/db/database.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";
import { insertVouched, updateVouched } from "../../platform/sealing/write-vouched.ts";
import { PEOPLE } from "../store.ts";

export type LinkKind = "invitation" | "reset";

type PasswordLinkRow = {
  token_hash: Buffer;
  person_id: string;
  kind: LinkKind;
  created_at: Date;
  expires_at: Date;
};

type LinkedPerson = { person_id: string; kind: LinkKind; email: Buffer };

export const PASSWORD_LINKS = vouchedTable(
  "password_links",
  ["token_hash"],
  ["person_id", "kind", "created_at", "expires_at"],
);

export function insertPasswordLink(tx: Transaction, link: PasswordLinkRow): void {
  insertVouched(tx, PASSWORD_LINKS, link);
}

/** Absent if somebody planted or changed it. */
export async function findPasswordLink(
  session: Session,
  token_hash: Buffer,
  now: Date,
): Promise<LinkedPerson | undefined> {
  const [row] = await session.query<LinkedPerson>(
    `select password_links.*, people.email from password_links
     join people on people.id = password_links.person_id
     where token_hash = $1 and expires_at > $2`,
    [token_hash, now],
  );
  return row && PASSWORD_LINKS.vouchedOnly(session, [row])[0];
}

/** Uses up the link, at once: of two requests with it, one gets it. */
export async function claimPasswordLink(
  tx: Transaction,
  token_hash: Buffer,
  now: Date,
): Promise<boolean> {
  const rows = await tx.query(
    "delete from password_links where token_hash = $1 and expires_at > $2 returning *",
    [token_hash, now],
  );
  return PASSWORD_LINKS.vouchedOnly(tx, rows).length > 0;
}

export function deletePasswordLinks(tx: Transaction, person_id: string): void {
  tx.write("delete from password_links where person_id = $1", [person_id]);
}

export async function deleteExpiredLinks(session: Session, now: Date): Promise<void> {
  await session.query("delete from password_links where expires_at <= $1", [now]);
}

/** Null: the person cannot sign in until they have set one. */
export function updatePassword(tx: Transaction, id: string, password_hash: string | null): void {
  updateVouched(tx, PEOPLE, { id }, { password_hash });
}
