import type { Transaction } from "../../platform/db/database.ts";
import { openPersonal } from "../seal-personal.ts";
import { hashRecoveryCode, readRecoveryCode } from "./recovery-codes.ts";
import { claimRecoveryCode, claimTotpStep, findTotp } from "./store.ts";
import { stepOfCode } from "./totp.ts";

type Factor = "totp" | "recovery_code";

const TOTP_CODE = /^\d{6}$/;

/** Uses up the code of an authenticator app, or a recovery code; null if it is not accepted. */
export async function verifyFactor(
  tx: Transaction,
  index_key: Buffer,
  person_id: string,
  given: string,
  now: Date,
): Promise<Factor | null> {
  const digits = given.replace(/\s/g, "");
  if (TOTP_CODE.test(digits)) {
    const row = await findTotp(tx, person_id);
    const step = row ? stepOfCode(openSeed(index_key, person_id, row.seed), digits, now) : null;
    return step !== null && (await claimTotpStep(tx, person_id, step)) ? "totp" : null;
  }
  const code = readRecoveryCode(given);
  if (code === null) return null;
  const hash = hashRecoveryCode(index_key, person_id, code);
  return (await claimRecoveryCode(tx, person_id, hash)) ? "recovery_code" : null;
}

function openSeed(index_key: Buffer, person_id: string, sealed: Buffer): Buffer {
  return Buffer.from(openPersonal(index_key, seedPlace(person_id), sealed), "base64");
}

export function seedPlace(person_id: string) {
  return { table: "totp_factors", column: "seed", record_id: person_id };
}
