import { recordAudits } from "../accounts/audit.ts";
import { actorOf } from "../accounts/model.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { ScreeningPort } from "../partners/screening/port.ts";
import type { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import {
  clearanceProblems,
  deactivationProblems,
  type KycEnforcement,
} from "../users/clearance.ts";
import type { Kyc } from "../users/model.ts";
import { lockKycs, usersOf } from "../users/store.ts";
import type { PaymentDetail, PaymentDetailFields } from "./model.ts";
import { hashPayee } from "./payee.ts";
import { renderPaymentDetail } from "./render.ts";
import { personOfDetail } from "./screened-payee.ts";
import { insertPaymentDetails } from "./store.ts";

type NewPaymentDetail = {
  user_id: string;
  fields: PaymentDetailFields;
  problems: readonly Problem[];
};

type Loaded = { kycs: AccountMap<Kyc>; keys: SubjectKeys };
type Created = { detail: PaymentDetail; key: Buffer };

export function createPaymentDetails(
  deps: { keyring: Keyring; index_key: Buffer; catalogue: Catalogue; screening: ScreeningPort },
  enforcement: KycEnforcement,
): UseCase<NewPaymentDetail, Loaded, Created> {
  const { keyring, index_key, catalogue, screening } = deps;
  return {
    name: "create-payment-details",
    rows: () => 1,
    load: async (tx, commands) => {
      const users = usersOf(commands);
      const [kycs, keys] = await Promise.all([
        lockKycs(tx, users),
        keyring.openUserKeys(tx, users),
      ]);
      return { kycs, keys };
    },
    decide: (loaded, command, now) => {
      const verdict = decideOne(loaded, command, enforcement, now);
      if ("refusal" in verdict) return verdict;
      return { ...verdict, output: screened(screening, verdict.output) };
    },
    record: (tx, _loaded, accepted, now) => {
      insertPaymentDetails(
        tx,
        accepted.map(({ output }) => ({
          ...output,
          payee_index: hashPayee(index_key, catalogue, output.detail),
          screening_version: versionOf(screening, output.detail),
        })),
      );
      // Who named the payee: its first event, if any, is a later change.
      const acts = accepted.map(({ command, output: { detail } }) => {
        const { account_id, id } = detail;
        const act = { account_id, actor: actorOf(command), record: `payment_detail:${id}` };
        return { ...act, action: "payment_detail.create" as const, reason: "" };
      });
      recordAudits(tx, acts, now);
    },
    render: ({ detail }) => renderPaymentDetail(detail),
  };
}

/** Like an entry of a list: it waits for a reviewer. Without a list nothing is compared. */
function screened(screening: ScreeningPort, created: Created): Created {
  if (!screening.lists()) return created;
  const hits = screening.screen(personOfDetail(created.detail.fields));
  if (hits.length === 0) return created;
  return { ...created, detail: { ...created.detail, status: "pending" } };
}

/** What was found is written by whoever screens the user next, which is before the answer. */
function versionOf(screening: ScreeningPort, { status }: PaymentDetail): string | null {
  return status === "pending" ? null : (screening.lists()?.version ?? null);
}

function decideOne(
  { kycs, keys }: Loaded,
  command: Command<NewPaymentDetail>,
  enforcement: KycEnforcement,
  now: Date,
): Verdict<Created> {
  const { account_id, input } = command;
  const { user_id, fields } = input;
  const kyc = kycs.get(account_id, user_id);
  const key = keys.get(account_id, user_id);
  if (!kyc || !key) return { refusal: Refusal.of([...input.problems, notFound("user_id")]) };
  const problems = [...input.problems, ...deactivationProblems(kyc, "user_id")];
  if (enforcement === "payment_detail") {
    problems.push(...clearanceProblems(kyc, fields.currency, fields.rails, "payment_detail"));
  }
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  const detail: PaymentDetail = {
    account_id,
    id: newId(now),
    user_id,
    status: "approved",
    fields,
    sequence: 0,
    created_at: now,
    updated_at: now,
  };
  return { output: { detail, key }, subject: { subject_id: user_id, key } };
}
