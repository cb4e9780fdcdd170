import type { Transaction } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import { queueMail } from "../mail/queue-mail.ts";
import type { ChallengeUse } from "../passkeys/challenges.ts";
import { type PasskeyDeps, passkeyRefused, verifyPasskey } from "../passkeys/verify-passkey.ts";
import { openPersonal } from "../seal-personal.ts";
import type { MemberSession } from "../sign-in/sessions.ts";
import { hashRecoveryCode, readRecoveryCode } from "./recovery-codes.ts";
import { claimRecoveryCode, claimTotpStep, findTotp } from "./store.ts";
import { stepOfCode } from "./totp.ts";

/** A code of an authenticator app, a recovery code, or what a passkey signed. */
export type FactorProof = { code: string } | { credential: string };

type Factor = "totp" | "recovery_code" | "passkey";

const TOTP_CODE = /^\d{6}$/;
const WRONG_CODE =
  "This code is not correct, or was used already. Enter the one that the app shows now, or a " +
  "recovery code.";

/** Whether it is a code of six digits; recovery codes and passkeys cannot be guessed. */
export function isShortCode(proof: FactorProof): boolean {
  return "code" in proof && TOTP_CODE.test(digitsOf(proof.code));
}

function digitsOf(code: string): string {
  return code.replace(/\s/g, "");
}

/** Uses up the proof; null if it is not accepted. The owner is told of a recovery code. */
export async function verifyFactor(
  tx: Transaction,
  deps: PasskeyDeps,
  session: MemberSession,
  purpose: ChallengeUse["purpose"],
  proof: FactorProof,
  now: Date,
): Promise<Factor | null> {
  const { account_id, person_id, email } = session;
  if ("code" in proof) {
    const factor = await verifyCode(tx, deps.index_key, person_id, proof.code, now);
    if (factor === "recovery_code") {
      const mail = { account_id, kind: "recovery_code_used", email } as const;
      queueMail(tx, deps.index_key, mail, deps.clock.now());
    }
    return factor;
  }
  const given = { ...proof, use: { purpose, holder: session.id } };
  const verdict = await verifyPasskey(tx, deps, session, given, now);
  return verdict === "accepted" ? "passkey" : null;
}

export function factorRefused(proof: FactorProof): Refusal {
  if ("credential" in proof) return passkeyRefused("refused");
  return new Refusal("unauthorized", WRONG_CODE);
}

async function verifyCode(
  tx: Transaction,
  index_key: Buffer,
  person_id: string,
  given: string,
  now: Date,
): Promise<Factor | null> {
  const digits = digitsOf(given);
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
