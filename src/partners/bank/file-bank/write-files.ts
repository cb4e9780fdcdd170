import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { CreditTransfer, PaymentFile, Scheme } from "../iso20022/credit-transfer.ts";
import { writePayments } from "../iso20022/write-payments.ts";
import { renderAchFile } from "./ach/render-ach-file.ts";
import { stopPayments } from "./close-files.ts";
import type { ClosedFile, FileBankAccount } from "./model.ts";
import { type OpenedPayment, readPayments } from "./read-payments.ts";
import { listUnwrittenFiles, updateToPlacing, updateToWritten } from "./store.ts";
import type { FileBankDeps } from "./submit-payments.ts";
import { transferOf } from "./transfer-of.ts";

const FILES_AT_ONCE_MAX = 20;
const BUFFER_LENGTH = 64 * 1024;

/**
 * Brings complete files to where the bank takes them. Each step is recorded, and can be done by any
 * process and again after a crash:
 *
 * 1. The bytes are written under a temporary name of the caller's own, and forced to disk.
 * 2. The first caller that records its temporary name has decided which bytes the file is.
 * 3. That name, and no other, is renamed. A name that is gone was renamed before: the bank may have
 *    taken the file already, so it is not written again.
 */
export async function writeFiles(deps: FileBankDeps, now: Date): Promise<void> {
  const failures: unknown[] = [];
  for (const file of await listUnwrittenFiles(deps.database, FILES_AT_ONCE_MAX)) {
    // A directory that cannot be written does not delay the files of others.
    await writeOne(deps, file, now).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

async function writeOne(deps: FileBankDeps, file: ClosedFile, now: Date): Promise<void> {
  const account = deps.accounts.find(({ name }) => name === file.bank_account);
  if (!account) throw new Error(`no settings for the account ${file.bank_account}`);
  // Some were stopped since: the file was closed again without them, for the next run.
  if (file.state === "closed" && (await stopPayments(deps, file.id, now))) return;
  const temporary_name = file.temporary_name ?? (await writeTemporary(deps, account, file, now));
  // Another process was faster: it goes on from there, or the next run does.
  if (temporary_name === null) return;
  if (deps.leaving && !(await deps.leaving.mayLeave())) return;
  await place(account.outbox, temporary_name, nameOf(file));
  await updateToWritten(deps.database, file.id, now);
  await removeLeftovers(account.outbox, file.message_id);
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
  const path = join(account.outbox, temporary_name);
  const digest = await writeSynced(path, renderFile(deps, account, file));
  const placed = { temporary_name, digest };
  // If this fails it may have been recorded all the same: then the name must stay.
  if (await updateToPlacing(deps.database, file, placed, now)) return temporary_name;
  await rm(path, { force: true });
  return null;
}

/** Writes a file and forces it to disk, or leaves none. Returns its digest. */
async function writeSynced(path: string, pieces: AsyncIterable<string>): Promise<Buffer> {
  const handle = await open(path, "wx", 0o640);
  try {
    const digest = await writeBytes(handle, pieces);
    await handle.sync();
    return digest;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
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
  return writePayments(head, totals, toTransfers(route.scheme, readPayments(deps, file)));
}

async function* toTransfers(
  scheme: Scheme,
  payments: AsyncIterable<OpenedPayment>,
): AsyncGenerator<CreditTransfer> {
  for await (const payment of payments) yield transferOf(scheme, payment, payment.uetr);
}

async function writeBytes(handle: FileHandle, pieces: AsyncIterable<string>): Promise<Buffer> {
  const hash = createHash("sha256");
  let buffered = "";
  const flush = async () => {
    hash.update(buffered);
    await handle.writeFile(buffered);
    buffered = "";
  };
  for await (const piece of pieces) {
    buffered += piece;
    if (buffered.length >= BUFFER_LENGTH) await flush();
  }
  await flush();
  return hash.digest();
}

async function place(outbox: string, temporary_name: string, name: string): Promise<void> {
  try {
    await rename(join(outbox, temporary_name), join(outbox, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const directory = await open(outbox);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Temporary files of callers that crashed before theirs was recorded. */
async function removeLeftovers(outbox: string, message_id: string): Promise<void> {
  const names = await readdir(outbox);
  for (const name of names.filter((one) => one.startsWith(`.${message_id}.`))) {
    await rm(join(outbox, name), { force: true });
  }
}
