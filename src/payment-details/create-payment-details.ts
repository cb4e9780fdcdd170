import { recordAudits } from "../accounts/audit.ts";
import { actorOf } from "../accounts/model.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { ScreeningPort } from "../partners/screening/port.ts";
import { screenInTurn } from "../partners/screening/screen-in-turn.ts";
import type { AccountMap } from "../platform/account-map.ts";
import type { Answer, CommandRequest, Executor } from "../platform/commands/executor.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import {
  clearanceProblems,
  deactivationProblems,
  type KycEnforcement,
} from "../users/clearance.ts";
import { lockKycs } from "../users/kyc-store.ts";
import type { Kyc } from "../users/model.ts";
import { usersOf } from "../users/store.ts";
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

/** What the lists said of the payee; null: there are none. */
type Screened = { version: string; is_listed: boolean } | null;
type Input = NewPaymentDetail & { screened: Screened };

type Loaded = { kycs: AccountMap<Kyc>; keys: SubjectKeys };
type Created = { detail: PaymentDetail; key: Buffer };

type CreateDeps = {
  executor: Executor;
  keyring: Keyring;
  index_key: Buffer;
  catalogue: Catalogue;
  screening: ScreeningPort;
};

/**
 * Screens the payee first, in turn: a batch of commands is decided at one go, and a hundred payees
 * with frequent names would stop everything else for seconds.
 */
export function createPaymentDetails(deps: CreateDeps, enforcement: KycEnforcement) {
  const submit = deps.executor.register(newPaymentDetails(deps, enforcement));
  return async (request: CommandRequest<NewPaymentDetail>): Promise<Answer> => {
    const { account_id, input } = request;
    const is_refused = input.problems.length > 0;
    const screened = is_refused
      ? null
      : await screenPayee(deps.screening, account_id, input.fields);
    return submit({ ...request, input: { ...input, screened } });
  };
}

async function screenPayee(
  screening: ScreeningPort,
  account_id: string,
  fields: PaymentDetailFields,
): Promise<Screened> {
  const lists = screening.lists();
  if (!lists) return null;
  const hits = await screenInTurn(screening, account_id, personOfDetail(fields));
  return { version: lists.version, is_listed: hits.length > 0 };
}

function newPaymentDetails(
  { keyring, index_key, catalogue }: CreateDeps,
  enforcement: KycEnforcement,
): UseCase<Input, Loaded, Created> {
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
    decide: (loaded, command, now) => decideOne(loaded, command, enforcement, now),
    record: (tx, _loaded, accepted, now) => {
      insertPaymentDetails(
        tx,
        accepted.map(({ command, output }) => ({
          ...output,
          payee_index: hashPayee(index_key, catalogue, output.detail),
          screening_version: versionOf(command.input.screened),
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

/** What was found is written by whoever screens the user next, which is before the answer. */
function versionOf(screened: Screened): string | null {
  return screened && !screened.is_listed ? screened.version : null;
}

function decideOne(
  { kycs, keys }: Loaded,
  command: Command<Input>,
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
    // Like an entry of a list: it waits for a reviewer.
    status: input.screened?.is_listed ? "pending" : "approved",
    fields,
    sequence: 0,
    created_at: now,
    updated_at: now,
  };
  return { output: { detail, key }, subject: { subject_id: user_id, key } };
}
