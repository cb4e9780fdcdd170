import { Refusal } from "../../platform/errors.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { queueMail } from "../mail/queue-mail.ts";
import { openPersonal, sealPersonal } from "../seal-personal.ts";
import { factorNotConfirmed, isFactorConfirmed } from "../sign-in/confirm-identity.ts";
import { type MemberSession, recordSignInChange, restartSession } from "../sign-in/sessions.ts";
import { lockPersonById } from "../store.ts";
import { replaceRecoveryCodes } from "./recovery-codes.ts";
import { existsFactor, findTotp, insertTotp } from "./store.ts";
import { makeSeed, stepOfCode } from "./totp.ts";
import { seedPlace } from "./verify-factor.ts";

type EnrolDeps = Pick<ModuleCore, "config" | "database" | "index_key" | "clock">;

type Enrolled = { recovery_codes: string[]; token: string };

/**
 * A new seed, and the form that the page keeps it in until the first code proves that the app has
 * it: sealed for this session, so that nothing is stored before.
 */
export function offerSeed(
  index_key: Buffer,
  session: MemberSession,
): { seed: Buffer; sealed: string } {
  const seed = makeSeed();
  const sealed = sealPersonal(index_key, offerPlace(session), seed.toString("base64"));
  return { seed, sealed: sealed.toString("base64url") };
}

/** Null when the text was not offered to this session. */
export function readSeed(index_key: Buffer, session: MemberSession, sealed: string): Buffer | null {
  try {
    const bytes = Buffer.from(sealed, "base64url");
    return Buffer.from(openPersonal(index_key, offerPlace(session), bytes), "base64");
  } catch {
    return null;
  }
}

/** Adds the second factor, with recovery codes, and ends all other sessions. */
export function enrolTotp(
  { config, database, index_key, clock }: EnrolDeps,
  session: MemberSession,
  { seed, code }: { seed: Buffer; code: string },
): Promise<Enrolled> {
  const { person_id, account_id, email } = session;
  const real_now = realTime(clock);
  const step = stepOfCode(seed, code.replace(/\s/g, ""), real_now);
  if (step === null) {
    throw invalid("This code is not correct. Enter the one that the app shows now.");
  }
  return database.transaction(async (tx) => {
    await lockPersonById(tx, person_id);
    if (await findTotp(tx, person_id)) {
      throw invalid("You have a second factor already. Remove it before you set up another one.");
    }
    const has_factor = await existsFactor(tx, person_id);
    if (!isFactorConfirmed({ ...session, has_factor }, real_now)) throw factorNotConfirmed();
    const now = clock.now();
    const sealed = sealPersonal(index_key, seedPlace(person_id), seed.toString("base64"));
    insertTotp(tx, { person_id, seed: sealed, last_step: step, created_at: now });
    const recovery_codes = replaceRecoveryCodes(tx, index_key, person_id);
    recordSignInChange(tx, "second_factor.create", session, now);
    queueMail(tx, index_key, { account_id, kind: "factor_added", email }, now);
    const times = { now: real_now, factor_at: real_now };
    const token = await restartSession(tx, { config, index_key }, session, times);
    return { recovery_codes, token };
  });
}

function offerPlace({ id }: MemberSession) {
  return { table: "sessions", column: "offered_seed", record_id: id };
}

function invalid(message: string): Refusal {
  return Refusal.of([{ field: "code", code: "record_invalid", message }]);
}
