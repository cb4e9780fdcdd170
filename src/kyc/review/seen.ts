import type { Session } from "../../platform/db/database.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import type { UserKey } from "../../users/store.ts";
import {
  findLastApplication,
  type KycApplication,
  type KycFile,
  listKycFiles,
} from "../application-store.ts";
import type { LockedUser } from "../move-kyc.ts";

/** What a reviewer sees besides the user's record; null when nothing was submitted. */
export type Papers = { application: KycApplication | null; files: KycFile[] };

export async function readPapers(
  session: Session,
  key: UserKey,
  subject_key: Buffer,
): Promise<Papers> {
  const application = (await findLastApplication(session, key, subject_key)) ?? null;
  const files = application ? await listKycFiles(session, key, application.id) : [];
  return { application, files };
}

/** A digest of everything shown for a decision: reviewers decide only on what they have seen. */
export function digestSeen(
  { user, subject_key }: LockedUser,
  { application, files }: Papers,
): string {
  const { sequence, identity } = user;
  const hashes = files.map(({ slot, hash }) => [slot, hash.toString("hex")]);
  const submitted = application && [application.id, application.submitted];
  const shown = JSON.stringify([sequence, identity, submitted, hashes]);
  return keyedHash(subject_key, "kyc review", shown).toString("base64url");
}
