import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { CreditTransfer, PaymentFile } from "../iso20022/credit-transfer.ts";
import { writePayments } from "../iso20022/write-payments.ts";
import type { ClosedFile, FileBankAccount } from "./model.ts";
import { listPayments, listUnwrittenFiles, updateToPlacing, updateToWritten } from "./store.ts";
import { DETAILS, type FileBankDeps } from "./submit-payments.ts";
import { transferOf } from "./transfer-of.ts";

const FILES_AT_ONCE_MAX = 20;
const PAYMENTS_PER_READ = 500;
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
  const temporary_name = file.temporary_name ?? (await writeTemporary(deps, account, file, now));
  // Another process was faster: it goes on from there, or the next run does.
  if (temporary_name === null) return;
  await place(account.outbox, temporary_name, `${file.scheme}-${file.message_id}.xml`);
  await updateToWritten(deps.database, file.id, now);
  await removeLeftovers(account.outbox, file.message_id);
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
  if (await updateToPlacing(deps.database, file.id, placed, now)) return temporary_name;
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
  const head: PaymentFile = {
    message_id: file.message_id,
    created_at: file.created_at,
    scheme: file.scheme,
    charge_bearer: route.charge_bearer,
    execution_date: file.execution_date,
    debtor: account.debtor,
    debtor_account: account.debtor_account,
    debtor_bank: account.debtor_bank,
    is_batch_booked: route.is_batch_booked,
    address_form: route.address_form,
  };
  const totals = { count: file.payments, control_sum: file.control_sum };
  return writePayments(head, totals, readTransfers(deps, file));
}

async function* readTransfers(
  { database, keyring }: FileBankDeps,
  file: ClosedFile,
): AsyncGenerator<CreditTransfer> {
  let after = 0n;
  for (;;) {
    const rows = await listPayments(database, file.id, after, PAYMENTS_PER_READ);
    if (rows.length === 0) return;
    const keys = await keyring.openAccounts(database, rows);
    for (const row of rows) {
      if (!row.details) throw new Error(`the details of ${row.end_to_end_id} are gone`);
      const record = { account_id: row.account_id, id: row.end_to_end_id };
      const details = DETAILS.open(keys.get(row.account_id)!, record, row.details);
      yield transferOf(file.scheme, { ...row, ...details }, row.uetr);
    }
    after = rows.at(-1)!.number;
  }
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
