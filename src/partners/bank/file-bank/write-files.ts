import { randomUUID } from "node:crypto";
import { MINUTE_MS } from "../../../platform/durations.ts";
import type { CreditTransfer, PaymentFile } from "../iso20022/credit-transfer.ts";
import { writePayments } from "../iso20022/write-payments.ts";
import { renderAchFile } from "./ach/render-ach-file.ts";
import { stopPayments } from "./close-files.ts";
import type { ClosedFile, FileBankAccount, IsoRoute } from "./model.ts";
import { type OpenedPayment, readPayments } from "./read-payments.ts";
import { existsLineNaming } from "./recover/recover-store.ts";
import { existsWrittenFile, updateToPlacing, updateToWritten } from "./store.ts";
import type { FileBankDeps } from "./submit-payments.ts";
import { openOutbox } from "./transfer/outbox.ts";
import { transferOf } from "./transfer-of.ts";
import { listUnwrittenFiles } from "./unwritten-store.ts";

/** More than a bank leaves lying: a run tries them all, so that refused ones hide no other. */
const FILES_AT_ONCE_MAX = 1_000;
/** A run begins no further file after this time. */
const RUN_MS = 10 * MINUTE_MS;

/**
 * Brings complete files of an account to where the bank takes them. Each step is recorded, and can
 * be done by any process and again after a crash:
 *
 * 1. The bytes are written under a temporary name of the caller's own, and forced to disk.
 * 2. The first caller that records its temporary name has decided which bytes the file is.
 * 3. That name, and no other, is renamed. A name that is gone was renamed before: the bank may have
 *    taken the file already, so it is not written again.
 */
export async function writeFiles(
  deps: FileBankDeps,
  bank_account: string,
  now: Date,
): Promise<void> {
  const account = deps.accounts.find(({ name }) => name === bank_account);
  if (!account) throw new Error(`no settings for the account ${bank_account}`);
  const files = await listUnwrittenFiles(deps.database, bank_account, FILES_AT_ONCE_MAX);
  const ends_ms = performance.now() + RUN_MS;
  const failures: Error[] = [];
  for (const file of files) {
    if (performance.now() > ends_ms) break;
    // One that the bank refuses does not delay the others.
    await writeOne(deps, account, file, now).catch((error: Error) => failures.push(error));
  }
  const [first] = failures;
  if (!first) return;
  const count = `${failures.length} of ${files.length} files of ${bank_account}`;
  throw new Error(`cannot write ${count}; first ${first.message}`, { cause: first });
}

async function writeOne(
  deps: FileBankDeps,
  account: FileBankAccount,
  file: ClosedFile,
  now: Date,
): Promise<void> {
  // It was restored: the bank has a file with this message id, and nobody here knows its content.
  if (await existsLineNaming(deps.database, file.message_id)) {
    throw new Error(`a bank has booked the file ${file.message_id}, which was not written here`);
  }
  // Some were stopped since: the file was closed again without them, for the next run.
  if (file.state === "closed" && (await stopPayments(deps, file.id, now))) return;
  const temporary_name = file.temporary_name ?? (await writeTemporary(deps, account, file, now));
  // Another process was faster: it goes on from there, or the next run does.
  if (temporary_name === null) return;
  if (deps.leaving && !(await deps.leaving.mayLeave())) return;
  const outbox = openOutbox(account);
  await outbox.place(temporary_name, nameOf(file));
  await updateToWritten(deps.database, file.id, now);
  // Of callers that crashed before their temporary name was recorded.
  for (const name of await outbox.list(`.${file.message_id}.`)) await outbox.remove(name);
}

function nameOf({ scheme, message_id }: ClosedFile): string {
  return `${scheme}-${message_id}.${scheme === "ach" ? "ach" : "xml"}`;
}

async function writeTemporary(
  deps: FileBankDeps,
  account: FileBankAccount,
  file: ClosedFile,
  now: Date,
): Promise<string | null> {
  const temporary_name = `.${file.message_id}.${randomUUID()}.tmp`;
  const outbox = openOutbox(account);
  let digest: Buffer;
  try {
    digest = await outbox.write(temporary_name, renderFile(deps, account, file));
  } catch (error) {
    // Another process has written it meanwhile: the details of its payees are gone.
    if (await existsWrittenFile(deps.database, file.id)) return null;
    throw error;
  }
  const placed = { temporary_name, digest };
  // If this fails it may have been recorded all the same: then the name must stay.
  if (await updateToPlacing(deps.database, file, placed, now)) return temporary_name;
  await outbox.remove(temporary_name);
  return null;
}

function renderFile(
  deps: FileBankDeps,
  account: FileBankAccount,
  file: ClosedFile,
): AsyncGenerator<string> {
  const route = account.routes.find(({ scheme }) => scheme === file.scheme);
  if (!route) throw new Error(`no settings for ${file.scheme} of the account ${account.name}`);
  if (route.scheme === "ach") return renderAchFile(deps, route, file);
  const head: PaymentFile = {
    message_id: file.message_id,
    created_at: file.created_at,
    scheme: route.scheme,
    charge_bearer: route.charge_bearer,
    execution_date: file.execution_date,
    debtor: account.debtor,
    debtor_account: account.debtor_account,
    debtor_bank: account.debtor_bank,
    is_batch_booked: route.is_batch_booked,
    address_form: route.address_form,
  };
  const totals = { count: file.payments, control_sum: file.control_sum };
  return writePayments(head, totals, toTransfers(route, readPayments(deps, file)));
}

async function* toTransfers(
  route: IsoRoute,
  payments: AsyncIterable<OpenedPayment>,
): AsyncGenerator<CreditTransfer> {
  for await (const payment of payments) yield transferOf(route, payment, payment.uetr);
}
